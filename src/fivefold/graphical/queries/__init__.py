"""Questions to a discrete model: posterior.py (what comes back), query_engines.py (who computes it)."""
