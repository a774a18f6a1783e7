"""TODO criteria."""
