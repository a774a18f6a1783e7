"""What Gaussian processes compute: factors of covariances, evidence with its gradient, approximations."""
