"""TODO trees."""
