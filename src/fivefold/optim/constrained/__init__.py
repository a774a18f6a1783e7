"""Minima under constraints: augmented Lagrangian, quadratic programs, Lagrange multipliers, duality."""
