"""Privacy: what keeps data on this computer, and takes note of what leaves it."""
