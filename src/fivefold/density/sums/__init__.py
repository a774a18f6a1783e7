"""Sums of kernels over points: shapes of kernels, a tree of points with bounds, a grid for the Fourier transform."""
