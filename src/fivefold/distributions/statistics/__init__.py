"""Sums that families are fitted from: moments.py (Gaussians), counts.py (counts and categories), count_loops.py."""
