"""Tables larger than memory: `Chunks` stands wherever a method takes X, in fit, predict, transform and score.

    from fivefold.data import Chunks
    LogisticRegression().fit(Chunks("sales/", memory="1 GB"), y="bought")

Arrays and data frames of Dask are taken as they are. docs/scale.md says what each method reads and sends.
"""

from fivefold.core.chunks.user_chunks import Chunks

__all__ = ["Chunks"]
