"""Questions about a whole row (hyperplane, quadric, sphere, ellipsoid, discriminants), how they are searched for,
and trees of them.
"""
