"""Linear dynamical systems: linear_system.py (filter, smoother, EM), steady_state.py, and their loops,
triangular_loops.py and filter_loops.py.
"""
