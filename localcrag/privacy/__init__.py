"""Privacy: the egress guard that keeps data on this computer, its log, and private files."""
