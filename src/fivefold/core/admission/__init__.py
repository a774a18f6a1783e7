"""Users' data become clean arrays here and nowhere else: takes.py (what a method accepts), tables.py (X), targets.py
(y and weights), sequences.py (tables of different lengths), categories.py (columns of frames as numbers), sparse.py
(canonical CSR), refusals.py (errors in words).
"""
