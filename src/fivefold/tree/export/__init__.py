"""Fitted trees as text, rules, Graphviz and SQL, one module per kind of tree; `tree_reader` is what exports read of a
tree, `sql_cases` writes it as CASE expressions; `inline_notation` is test ? tree : tree.
"""
