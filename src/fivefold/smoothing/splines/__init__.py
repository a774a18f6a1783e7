"""How smoothing splines are found: in one column knot by knot (natural_spline.py, knot_filter_loops.py), in many
by the matrix of all distances (radial_spline.py).
"""
