"""Measure how localcrag behaves with large collections."""
