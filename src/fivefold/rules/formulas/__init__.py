"""Boolean formulas: values, enumeration by code length, search, and columns as binary features."""
