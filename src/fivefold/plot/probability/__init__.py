"""Figures of distributions and their parameters: posterior_sharpening.py, student_t_tails.py, averages.py."""
