"""TODO penalties."""
