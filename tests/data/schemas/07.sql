-- Schema 7 as it was first committed (57057cd, 2026-11-21): what brought a database of 6 to it. Never to be edited.
ALTER TABLE labels ADD COLUMN overlap REAL;
