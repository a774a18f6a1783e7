"""TODO components."""
