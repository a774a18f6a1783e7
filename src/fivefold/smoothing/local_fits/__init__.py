"""What local smoothers share: weights of a query (local_regression.py), windows in one sorted column
(sorted_window_loops.py) and in many (neighborhood_loops.py), the fit within a window (window_fit_loops.py), the choice
of a width (smoothness_selection.py) and bands (bands.py).
"""
