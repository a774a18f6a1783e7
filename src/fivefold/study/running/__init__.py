"""TODO running."""
