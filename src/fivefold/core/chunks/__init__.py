"""Tables chunk by chunk: chunked_array.py (rows that are read again on every pass, and sums over them), sources.py
(where chunks come from), dask_source.py (chunks on a cluster), user_chunks.py (`fivefold.data.Chunks`).
"""
