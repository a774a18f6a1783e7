"""How a node finds its best split: presorted or sampled columns, categories, random thresholds, monotonic
constraints, multiway splits.
"""
