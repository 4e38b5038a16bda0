"""Collections: their locations, documents and settings, watched folders, copies, deletion."""
