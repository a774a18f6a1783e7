"""Model files: model_files.py (skops, trusted types), array_checks.py (do arrays fit together?), memory_limits.py
(sizes, free memory), old_modules.tsv and old_names.tsv (modules and stored classes of 0.1.0).
"""
