"""Hyperplanes: distances and margins, separability, fewest errors, rejection, networks of threshold units."""
