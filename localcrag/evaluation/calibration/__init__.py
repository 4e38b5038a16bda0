"""Calibration: labelled scores become probabilities and thresholds."""
