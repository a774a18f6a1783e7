"""Ways to the dual coefficients of ridge regression: a factor, a spectrum, products alone."""
