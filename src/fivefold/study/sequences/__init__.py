"""Rows that are steps of sequences: `step_order` reads and sorts them, `neighbour_columns` gives a row the columns of
those around it, `sequence_classifier` fits models of whole sequences to them.
"""
