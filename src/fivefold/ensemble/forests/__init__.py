"""TODO forests."""
