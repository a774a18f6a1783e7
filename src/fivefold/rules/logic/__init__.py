"""TODO logic."""
