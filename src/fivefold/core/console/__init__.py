"""What a user sees while a fit runs: user_warnings.py, fit_progress.py (progress line, Ctrl-C, callbacks),
control_characters.py (text made printable).
"""
