"""TODO judging."""
