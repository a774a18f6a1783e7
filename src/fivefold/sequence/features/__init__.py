"""Features of positions: attributes as numbers, and the weights of pairs of attribute and label."""
