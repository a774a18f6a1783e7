"""Grown trees as arrays: binary trees, multiway trees, and the loops that send rows down."""
