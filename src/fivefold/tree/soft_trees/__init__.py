"""TODO soft_trees."""
