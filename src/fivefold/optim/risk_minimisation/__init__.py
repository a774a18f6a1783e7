"""Whole procedures that minimise the empirical risk of a linear model.

They choose among the solvers and prepare the problem: a preconditioner from a sample, the span of the rows, some of the
columns, smoothed kinks.
"""
