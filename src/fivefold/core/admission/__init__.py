"""Users' data become clean arrays here and nowhere else: tables.py (X, y, weights, categories, refusals), sparse.py
(canonical CSR).
"""
