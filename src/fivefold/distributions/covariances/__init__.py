"""TODO covariances."""
