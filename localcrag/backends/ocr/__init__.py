"""Text recognition of scans and pictures, in a process of its own."""
