"""TODO tree_arrays."""
