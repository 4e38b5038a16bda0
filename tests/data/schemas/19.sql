-- Schema 19 as it was first committed (892a653, 2026-11-28): what brought a database of 18 to it. Never to be edited.
-- Folders that a collection follows. `prefix` stands in front of the names of their documents, `include` and `exclude`
-- are patterns (JSON); `away_since` is when the folder was found to be not there, and `away_why` in which way.
CREATE TABLE bound_folders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    path TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    include TEXT NOT NULL,
    exclude TEXT NOT NULL,
    gone TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    added_at TEXT NOT NULL,
    in_step_at TEXT,
    away_since TEXT,
    away_why TEXT
) STRICT;
-- Their files as they were seen last, so that those which are as they were need not be read to know it. `path` within
-- the folder, as the system has it; `sha256` of its content, `stored` of the content that `document` has of it;
-- `device` of the folder that it lies in. `gone_at` of one that is no more, until it is said what becomes of it.
CREATE TABLE folder_files (
    folder_id INTEGER NOT NULL REFERENCES bound_folders (id) ON DELETE CASCADE,
    path BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode TEXT NOT NULL,
    device TEXT NOT NULL,
    sha256 TEXT,
    document TEXT,
    stored TEXT,
    error TEXT,
    gone_at TEXT,
    PRIMARY KEY (folder_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_files_by_document ON folder_files (document);
CREATE INDEX folder_files_to_tell ON folder_files (folder_id) WHERE error IS NOT NULL OR gone_at IS NOT NULL;
CREATE INDEX documents_by_content ON documents (collection_id, sha256, name);
