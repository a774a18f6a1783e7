"""Terms of sparse linear rules: features, and code lengths in bits."""
