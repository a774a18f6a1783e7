"""Graphs as values, and what they say about independence: directed_graph.py, undirected_graph.py."""
