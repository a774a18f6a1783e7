"""TODO numerics."""
