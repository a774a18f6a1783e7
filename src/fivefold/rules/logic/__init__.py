"""First-order logic for Foil: relations, literals, clauses, joins, and the search for a clause."""
