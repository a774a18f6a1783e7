"""TODO splitters."""
