"""TODO rule_lists."""
