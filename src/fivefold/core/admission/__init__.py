"""TODO admission."""
