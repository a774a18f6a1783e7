"""Kernels of objects that are no rows of numbers: texts, sequences, graphs, trees, sets."""
