"""Arrays and linear algebra: arrays.py (array namespaces), products.py, table_moments.py (means and scatter),
eigenpairs.py, svd.py, linear_dependence.py, double_double.py (31 digits), softmax.py, opinion_pool.py.
"""
