"""Solvers of the duals of support vector machines and of quantile regression: coordinate descent and interior points.

Sequential minimal optimisation (SMO) for kernel machines belongs here.
"""
