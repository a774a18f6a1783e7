"""TODO members."""
