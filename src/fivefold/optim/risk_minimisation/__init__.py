"""TODO risk_minimisation."""
