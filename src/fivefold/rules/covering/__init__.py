"""Sequential covering: the search for conditions, and description lengths."""
