"""Collections: where they live, their documents and settings, watched folders, copies, deletion."""
