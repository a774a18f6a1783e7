"""Likelihoods of the classes: smoothing.py (pseudo-counts, variance floors), log_linear_form.py (scores linear in
the table).
"""
