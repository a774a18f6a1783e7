"""TODO pairwise."""
