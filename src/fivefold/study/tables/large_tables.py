"""Tables that do not fit into memory: folders of Parquet files, and Parquet files of more bytes than are free.

A sample of their rows is studied, and tells the kinds of the columns. The method that is chosen is then fitted to all
rows, chunk by chunk (study.models.all_rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from fivefold.core.chunks.user_chunks import Chunks
from fivefold.core.storage.memory_limits import format_size, free_memory
from fivefold.study.tables.table import BadInput
from fivefold.study.tables.text_encoding import COPIES_IN_MEMORY

SAMPLE_ROWS = 100_000  # rows of the sample, unless another number is asked for
SAMPLE_SEED = 0  # of the rows drawn: the same table gives the same sample
BYTES_PER_CELL = 8  # least memory of a value, as a float
CHUNK_BYTES = 512 << 20  # of rows in memory at a time


@dataclass(frozen=True)
class LargeTable:
    """A table that is read in chunks."""

    name: str
    chunks: Chunks
    rows: int
    size: int  # bytes of its values in memory, at least
    sampled: int

    def sample(self) -> pl.DataFrame:
        """Rows drawn at random from all of the table."""
        return cast(pl.DataFrame, pl.from_arrow(self.chunks.sample(self.sampled, SAMPLE_SEED)))

    @property
    def note(self) -> str:
        """What is done with the table."""
        return (
            f"{self.name} has {self.rows:,} rows, {format_size(self.size)}, and is not read whole: columns and "
            f"learners are judged on a sample of {min(self.sampled, self.rows):,} rows"
        )


def open_large(path: Path, sample: int | None = None) -> LargeTable | None:
    """The table of a folder or file, if it does not fit into the free memory or a sample is asked for; else None."""
    is_parquet = path.is_file() and path.suffix.lower() in (".parquet", ".pq")
    if not ((path.is_dir() and any(path.glob("**/*.parquet"))) or is_parquet):
        if sample is not None:
            raise BadInput(f"--sample is for Parquet files and folders of them; {path} is none")
        return None
    try:
        chunks = Chunks(path, memory=CHUNK_BYTES)
        source: Any = chunks._source
        rows = source.count_rows()
    except (ValueError, OSError) as error:
        raise BadInput(f"{path} cannot be read in chunks: {error}") from None
    size, free = BYTES_PER_CELL * rows * len(source.schema), free_memory()
    if sample is None and is_parquet and (free is None or COPIES_IN_MEMORY * size <= free):
        return None
    if not rows:
        raise BadInput(f"{path}: the table is empty: it has no rows")
    return LargeTable(path.name, chunks, rows, size, sample or SAMPLE_ROWS)
