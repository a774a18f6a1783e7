"""Recursive partitioning: one grower for every tree; see `fivefold.partition.growers.binary_grower`."""
