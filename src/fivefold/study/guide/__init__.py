"""The machine-learning cycle, step by step: `problem`, `feature_selection`, `advice`, and the `workflow` with its
report.
"""
