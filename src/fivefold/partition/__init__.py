"""Recursive partitioning: trees as arrays, how they grow and how they are pruned.

criteria: what a split is worth; splitters: the best split of a node; histograms: bins and their loops; missing_values:
policies and surrogates; pruning; tree_arrays: the trees that result; export: conditions, rules, SQL, Graphviz.
Four growers, because their nodes hold different things: growers.binary_grower (ranges of row lists), multiway_grower
(rows with fractional weights), histogram_grower (histograms of gradients), and grow_nodes of row_questions, where a
node holds whole rows and its question is learned on the spot.
"""
