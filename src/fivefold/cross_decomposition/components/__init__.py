"""How pairs of directions are found and taken out of two tables."""
