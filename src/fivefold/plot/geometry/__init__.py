"""Figures of the plane: linear maps and bases, ellipses of covariances, hyperplanes, regions of classes."""
