"""Shares of a table on the workers of a Dask cluster, one for every thread of a worker.

A state lives in the process of its worker, not in Dask's memory: it changes with every call. The worker knows how many
calls it has seen. One that does not have the state, or not at the right call, says so, and the state is made again from
the rows and the list of calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

from fivefold.core.chunks.shards import Shards

MAX_REPEATS = 20  # times that shares are made again for one call before the cluster is called unreliable

_states: dict[tuple[str, int], tuple[int, Any]] = {}  # of this process: calls seen, and the state, by table and share
_lock = threading.Lock()


class Answer(NamedTuple):
    """What a worker says to a call; `known` is false if it does not have the state."""

    known: bool
    value: Any
    worker: str


class DaskShards(Shards):
    """States made by `make(parts)` of the parts that delayed objects of Dask give."""

    def __init__(self, client: Any, parts: Sequence[Any], make: Callable[[list[Any]], Any]) -> None:
        self.client, self.parts, self.make, self.token = client, parts, make, uuid4().hex
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        futures = client.compute(list(parts))
        heads = client.gather([client.submit(_head, f, pure=False) for f in futures])
        self.heads = [head for head, _ in heads]
        self.shares, self.workers = self._shares(futures, [filled for _, filled in heads])
        made = [
            self._submit(_make, k, make, [futures[i] for i in share], [], keep=self.workers[k])
            for k, share in enumerate(self.shares)
        ]
        self._answers(made)

    def _shares(self, futures: Sequence[Any], filled: Sequence[bool]) -> tuple[list[list[int]], list[str]]:
        """The numbers of the parts of each share, and its worker: parts stay where they are, and have rows."""
        has, threads = self.client.who_has(futures), self.client.nthreads()
        held: dict[str, list[int]] = {}
        for i, future in enumerate(futures):
            if not filled[i]:
                continue
            owners = [w for w in has.get(future.key, ()) if w in threads]
            held.setdefault(min(owners) if owners else min(threads), []).append(i)
        cut = [(w, parts[t :: threads[w]]) for w, parts in sorted(held.items()) for t in range(threads[w])]
        shares = [(w, some) for w, some in cut if some]
        return [some for _, some in shares], [w for w, _ in shares]

    def call(self, method: str, *args: Any) -> list[Any]:
        step = len(self.calls)
        self.calls.append((method, args))
        futures = [self._submit(_call, k, step, method, args) for k in range(len(self.shares))]
        return self._answers(futures)

    def _answers(self, futures: list[Any]) -> list[Any]:
        """The values of all shares, made again where they are lost."""
        found = self.client.gather(futures)
        for k in range(len(found)):
            repeats = 0
            while not found[k].known:
                repeats += 1
                if repeats > MAX_REPEATS:
                    raise RuntimeError(
                        f"share {k} of the rows was lost {repeats} times: the workers of the cluster end too often, "
                        "perhaps for lack of memory"
                    )
                alive = self.workers[k] in self.client.nthreads()
                if alive and found[k].worker != self.workers[k]:  # it was asked of the wrong worker
                    step = len(self.calls) - 1
                    found[k] = self._submit(_call, k, step, *self.calls[step]).result()
                else:
                    parts = self.client.compute([self.parts[i] for i in self.shares[k]])
                    found[k] = self._submit(_make, k, self.make, parts, self.calls).result()
                    self.workers[k] = found[k].worker
        return [answer.value for answer in found]

    def _submit(self, work: Callable[..., Answer], k: int, *args: Any, keep: str | None = None) -> Any:
        worker = keep or self.workers[k]
        return self.client.submit(work, self.token, k, *args, workers=[worker], allow_other_workers=True, pure=False)

    def close(self) -> None:
        with suppress(Exception):  # the cluster may be gone
            self.client.run(_forget, self.token)


def _head(part: tuple[Any, ...]) -> tuple[Any, bool]:
    """What is told of a part beside its rows, and whether it has any."""
    return part[:-1], part[-1] is not None


def _make(token: str, k: int, make: Callable[[list[Any]], Any], parts: list[Any], calls: list[Any]) -> Answer:
    """Make the state of share k, which takes these calls; the value of the last one."""
    state, value = make([part[-1] for part in parts]), None
    for method, args in calls:
        value = getattr(state, method)(*args)
    with _lock:
        _states[token, k] = len(calls), state
    return Answer(True, value, _address())


def _call(token: str, k: int, step: int, method: str, args: tuple[Any, ...]) -> Answer:
    with _lock:
        seen, state = _states.pop((token, k), (-1, None))  # one that fails half-way is gone
    if seen != step:
        return Answer(False, None, _address())
    value = getattr(state, method)(*args)
    with _lock:
        _states[token, k] = step + 1, state
    return Answer(True, value, _address())


def _forget(token: str) -> None:
    with _lock:
        for key in [key for key in _states if key[0] == token]:
            del _states[key]


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
