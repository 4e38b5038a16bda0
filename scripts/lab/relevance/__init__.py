"""Labelled data for the reranker: train on it, calibrate, and measure."""
