"""Soft trees: fitted model and training, starts and growth, the objective with its derivatives."""
