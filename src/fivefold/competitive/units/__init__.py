"""What units that compete for rows share: lattice.py (places of units and their neighbours), competition_loops.py (one
row at a time), row_passes.py (passes over the rows, in orders that a seed decides).
"""
