"""TODO constrained."""
