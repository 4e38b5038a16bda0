"""Privacy: what keeps data in the process and on this computer, and notes what leaves."""
