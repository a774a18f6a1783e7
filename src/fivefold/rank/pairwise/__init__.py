"""Pairs within queries: the pairs, sums over them in compiled loops, the penalised risk."""
