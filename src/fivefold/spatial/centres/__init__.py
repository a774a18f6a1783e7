"""K centres: seeding.py (k-means++), lloyd.py (with Hamerly's bounds), geometric_medians.py (Weiszfeld),
online_kmeans.py (mini-batches).
"""
