"""Forests: base classes, arrays and loops, growers of one tree, and the committee of trees while it grows."""
