"""Forests: base classes, arrays and loops, targets, and the committee of trees while it grows."""
