"""Shares of a table that stay with those who work on them, for methods that pass over the same rows very often.

A worker makes a state of its share of the rows, once, and keeps it: calls change it, and only what they return is sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self


class Shards(ABC):
    """The states of all shares of the rows; see `RowChunks.shards`."""

    heads: list[tuple[int, int]]  # rows and checksum of each chunk that they were made of

    @abstractmethod
    def call(self, method: str, *args: Any) -> list[Any]:
        """state.method(*args) of every share; what they return, in the order of the shares.

        A share that is lost with its worker is made again, and takes all calls again: what a method does may depend on
        the state and the arguments only.
        """

    @abstractmethod
    def close(self) -> None:
        """Forget all states."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
