"""Hidden states with a structure, written as the states of one chain: state_chain.py, hierarchical_states.py,
explicit_durations.py, factorial_states.py, dynamic_network.py; sequence_em.py learns them from sequences.
"""
