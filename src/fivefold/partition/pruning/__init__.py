"""TODO pruning."""
