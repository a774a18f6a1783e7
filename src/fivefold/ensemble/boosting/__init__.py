"""Boosting: losses, rounds with exact and with histogram trees, sums of trees, stumps."""
