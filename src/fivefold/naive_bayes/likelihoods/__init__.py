"""TODO likelihoods."""
