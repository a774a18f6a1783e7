"""What filters of continuous states share: system_parameters.py turns matrices that users give into a system."""
