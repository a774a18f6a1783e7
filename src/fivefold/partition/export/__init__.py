"""Conditions and rules as values, and how names and numbers are written in text, SQL and Graphviz."""
