"""Parameters from data: tables of directed networks (table_counts.py, network_em.py, table_fit.py), potentials of
undirected ones (potential_fit.py), and tables made by rule (canonical_tables.py).
"""
