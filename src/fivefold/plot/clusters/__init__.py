"""Figures of clusters by density."""
