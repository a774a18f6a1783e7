"""Where a tensor is learned from: on its device, or on the host, and one line in the log says which and why."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Table, UserTable

LOG = logging.getLogger("fivefold.core")
FULL_MEMORY = (
    "{name}: the memory of {device} is full ({free:.2f} of {total:.2f} GB are free), and nothing was learned or "
    "changed. Delete tensors that are no longer needed, give X as float32 or in batches of rows, or give a NumPy array "
    "to run on the host"
)


class DeviceMemoryError(MemoryError):
    """The memory of an accelerator does not hold the tensors of a method and what it computes from them."""


WIDE = "a table with fewer rows than columns"


def without_tensor_path(asked: Mapping[str, bool]) -> str:
    """The words for the first of these that is asked for, none of which has a path for tensors; or nothing."""
    return next((f"{what} has no path for tensors" for what, given in asked.items() if given), "")


@contextmanager
def place_of_fit(estimator: object, X: UserTable) -> Iterator[None]:
    """Around a fit to a tensor: notes the place and the kind of the learned arrays, and logs both.

    One that fails, for example for lack of memory, leaves the place of an earlier one as it was.
    """
    known, name = vars(estimator), type(estimator).__name__
    earlier = known.get("_device", "cpu")
    known["_device"] = str(X.device)
    try:
        with words_for_full_memory(estimator, X):
            yield
    except BaseException:
        known["_device"] = earlier
        known.pop("_why_host", None)
        raise
    known["_kind"] = X[:0].clone()  # a view would keep all of X
    reason = known.pop("_why_host", "the tensor lies there and the method has a path for tensors")
    LOG.info("%s was fitted on %s: %s", name, known["_device"], reason)


def move_to_host(estimator: object, X: Table, reason: str) -> None:
    """Note that a tensor is copied to the host, and why; warn if it lay on another device."""
    known, name = vars(estimator), type(estimator).__name__
    known["_device"], known["_why_host"] = "cpu", reason
    if X.device.type != "cpu":
        warn(f"{name} runs on the CPU: the tensor on {X.device} was copied to the host, because {reason}")


@contextmanager
def words_for_full_memory(estimator: object, X: UserTable) -> Iterator[None]:
    """Say in words that the memory of the device of X is full, and what to do."""
    if X.device.type != "cuda":
        yield
        return
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        free, total = (size / 1e9 for size in torch.cuda.mem_get_info(X.device))
        text = FULL_MEMORY.format(name=type(estimator).__name__, device=X.device, free=free, total=total)
        raise DeviceMemoryError(text) from error
