"""Where rows go whose value is missing: fractions, the majority, their class, or surrogate splits."""
