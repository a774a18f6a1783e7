"""Direct and path solvers: least squares, ridge, lasso path."""
