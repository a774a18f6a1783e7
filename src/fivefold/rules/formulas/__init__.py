"""TODO formulas."""
