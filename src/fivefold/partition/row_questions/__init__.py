"""TODO row_questions."""
