"""What the hidden Markov models share: hmm.py is the model that EM fits, emissions.py and mixture_emission.py what its
states emit, initial_states.py where EM starts, convergence_monitor.py and base.py what users see.
"""
