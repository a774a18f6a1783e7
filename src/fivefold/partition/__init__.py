"""Recursive partitioning. criteria: what a split is worth; splitters: the best split of a node; growers: binary,
multiway, histogram (a fourth, for questions about whole rows, is row_questions.nodes); histograms: bins and their
loops; missing_values: policies and surrogates; row_questions: hyperplanes, quadrics, spheres; pruning; tree_arrays:
the trees that result; export: conditions, rules, SQL, Graphviz. Four growers, because their nodes hold different
things: a range of sorted lists, rows with fractional weights, histograms of gradients, whole rows with a question
learned on the spot.
"""
