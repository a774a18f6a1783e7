"""What the methods share: lattice.py (places of units and their neighbours), row_passes.py (passes over the rows, in
orders that a seed decides), labelled_units.py and glvq_cost.py (units with labels, and their cost),
competition_loops.py, hebbian_loops.py and resonance_loops.py (units that learn from one row at a time).
"""
