"""What hierarchical clusterers share: compiled merging, the tree of merges, its cuts."""
