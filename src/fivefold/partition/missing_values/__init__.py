"""TODO missing_values."""
