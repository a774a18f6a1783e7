"""Parts of multivariate nodes: discriminant directions, groups of classes, local dimension reduction, balls."""
