"""Penalties on coefficients, each with its proximal operator."""
