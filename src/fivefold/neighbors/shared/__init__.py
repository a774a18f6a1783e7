"""What the methods of this chapter share: base.py (parameters of a search, what a fit stores), neighbor_queries.py (the
neighbours themselves, as arrays and graphs), metric_parameters.py (metrics by name), neighbor_graphs.py (sparse graphs
in and out), vote_weights.py (what a vote counts), neighbor_votes.py (sums of votes), cases.py (the rows behind an
answer), voters.py (bases of the classifiers and regressors), centroid_loops.py (distances to centres of classes).
"""
