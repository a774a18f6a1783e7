"""TODO model_selection."""
