"""Figures of kernel machines: margins and tubes with their support vectors, Gram matrices, Gaussian processes."""
