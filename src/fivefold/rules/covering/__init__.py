"""TODO covering."""
