"""Recursive partitioning: one grower for every tree; see `fivefold.partition.grow`."""
