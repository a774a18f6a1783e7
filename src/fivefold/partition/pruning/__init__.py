"""Cost-complexity, error-based, reduced-error, pessimistic, chi-square and description-length pruning."""
