"""Metrics that are learned from labels: a linear map, and distances after it."""
