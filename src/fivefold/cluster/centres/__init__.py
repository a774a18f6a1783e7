"""Clusterers with one centre per cluster: prototypes.py (base class and model), restarts.py (starts, and the best of
several runs).
"""
