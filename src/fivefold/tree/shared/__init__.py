"""Base classes: trees of questions about single columns, multiway trees, trees of questions about whole rows, linear
models in leaves.
"""
