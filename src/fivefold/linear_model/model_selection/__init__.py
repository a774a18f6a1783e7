"""Choosing a penalty or a stopping time: folds, early stopping, the strength of an L1 penalty."""
