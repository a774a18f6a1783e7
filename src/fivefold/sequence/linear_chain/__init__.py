"""What learners of linear chains share: the model, admission of sequences, likelihood and largest-margin problems."""
