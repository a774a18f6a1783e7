"""Demonstrations: cost functions by name, solvers side by side, a table of matrix derivatives. No estimator uses
them.
"""
