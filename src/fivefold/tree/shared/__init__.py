"""Base classes: trees of questions about single columns, multiway trees, trees of questions about whole rows; what
trees learn (`tree_targets`), and linear models in leaves.
"""
