"""TODO growers."""
