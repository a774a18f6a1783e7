"""Figures of nearest neighbours."""
