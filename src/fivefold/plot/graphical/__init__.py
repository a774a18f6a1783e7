"""Graphical models: network_diagram.py (graphs of any kind, plates), factor_diagram.py (factor graphs, junction trees,
random fields), node_layout.py (where nodes stand), chain_trace.py (draws of Markov chains).
"""
