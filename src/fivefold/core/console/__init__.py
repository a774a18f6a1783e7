"""TODO console."""
