"""TODO boosting."""
