"""What kernel machines share.

expansion.py is the learned sum of kernels, training.py gives solvers the rows of the Gram matrix, dual_problems.py
states the dual problem of each machine, pairwise_training.py fits one machine per pair of classes, platt_scaling.py
turns answers into probabilities, base.py has the parameters and attributes that all machines have.
"""
