"""Figures of maps of units."""
