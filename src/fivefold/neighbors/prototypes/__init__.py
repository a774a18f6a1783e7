"""Choosing the rows that nearest neighbours need: condensing, editing."""
