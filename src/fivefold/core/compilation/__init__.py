"""TODO compilation."""
