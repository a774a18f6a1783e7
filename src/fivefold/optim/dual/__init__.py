"""TODO dual."""
