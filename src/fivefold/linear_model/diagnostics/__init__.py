"""What a fit says of itself: summary tables, standard errors and separation, collinearity, Gaussian noise."""
