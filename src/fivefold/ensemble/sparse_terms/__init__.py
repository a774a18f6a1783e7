"""TODO sparse_terms."""
