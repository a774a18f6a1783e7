"""TODO online."""
