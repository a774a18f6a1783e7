"""TODO preparation."""
