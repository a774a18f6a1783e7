"""Labels of the nodes of graphs: graphs as users pass them, marginals on them, likelihood and pseudo-likelihood."""
