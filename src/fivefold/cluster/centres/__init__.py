"""Clusterers that stand for a cluster by a centre: prototypes.py (base class and model), restarts.py (starts, the
best of several runs).
"""
