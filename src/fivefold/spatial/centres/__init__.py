"""TODO centres."""
