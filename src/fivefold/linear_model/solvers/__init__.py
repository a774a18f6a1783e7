"""TODO solvers."""
