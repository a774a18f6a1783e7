"""Members of an ensemble: inner and named estimators, metadata routing, warm starts, bootstrap samples."""
