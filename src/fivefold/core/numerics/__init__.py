"""Arrays and linear algebra: arrays.py (array namespaces), linalg.py, affine_map.py, double_double.py (31 digits),
softmax.py.
"""
