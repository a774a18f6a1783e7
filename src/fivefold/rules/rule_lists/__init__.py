"""Rule lists and rule sets as values: reading, writing, simplifying, pruning, and rules from trees."""
