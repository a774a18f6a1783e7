"""TODO bayesian."""
