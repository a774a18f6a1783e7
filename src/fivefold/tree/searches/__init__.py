"""TODO searches."""
