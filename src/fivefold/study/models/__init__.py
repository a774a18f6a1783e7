"""Fitted models: `winner` fits them, `model_file` saves and loads, `new_rows` reads tables for them, `scoring`
evaluates.
"""
