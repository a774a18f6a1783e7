"""TODO stochastic."""
