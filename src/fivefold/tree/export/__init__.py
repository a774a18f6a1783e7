"""Fitted trees as text, rules, Graphviz and SQL, one module per kind of tree; `inline_notation` is test ? tree :
tree.
"""
