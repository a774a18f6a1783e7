"""TODO losses."""
