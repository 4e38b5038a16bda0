"""What the relevance model is trained on, calibrated on and measured by."""
