"""Sums that families are fitted from: moments.py (Gaussians), counts.py (counts and categories), count_loops.py,
exponential_columns.py (other numbers with sufficient statistics), distinct_rows.py (numbers without).
"""
