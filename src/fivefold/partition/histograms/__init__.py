"""Binned columns, and the compiled loops that build and search histograms of gradients."""
