"""TODO textbook."""
