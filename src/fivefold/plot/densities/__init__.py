"""Figures of densities and smoothers."""
