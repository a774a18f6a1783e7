"""TODO proximal."""
