"""TODO smooth."""
