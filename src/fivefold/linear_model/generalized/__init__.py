"""TODO generalized."""
