"""Models that run on this computer."""
