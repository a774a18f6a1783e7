"""Widths of windows and of bins: rules, plug-in, and likelihood of rows left out."""
