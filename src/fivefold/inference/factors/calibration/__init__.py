"""How a junction tree passes its messages: evidence_arrays.py in, clique_beliefs.py out, by clique_layout.py and
clique_loops.py, or by log_calibration.py where products underflow.
"""
