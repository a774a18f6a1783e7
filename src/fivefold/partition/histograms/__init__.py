"""TODO histograms."""
