"""Solvers of a smooth function plus a penalty: proximal gradients and Newton, coordinate descent for the lasso."""
