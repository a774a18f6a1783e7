"""Arrays fitted on a device: within `fits_on("cuda")`, methods that predict a target and take tensors learn there.

    with fits_on("cuda") as places:
        model = LogisticRegression().fit(X, y)  # NumPy in, learned on the device, NumPy out
    places  # {'LogisticRegression': 'cuda:0'}

X is copied to the device in its own precision; what is learned is kept as NumPy arrays, as for tensors, and predictions
for arrays are made on the host. Everything else, sparse matrices and frames among it, is fitted as without this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import get_tags

from fivefold.core.admission.places import place_of_fit, words_for_full_memory
from fivefold.core.types import UserTable

E = TypeVar("E")
NEEDS_NO_HARDWARE = (None, "cpu", "meta")  # devices that every torch has


@dataclass(frozen=True)
class FitPlaces:
    """A device, and where methods were fitted since it was asked for."""

    device: str
    seen: dict[str, str] = field(default_factory=dict)  # name of a method -> device of its fits


ASKED: ContextVar[FitPlaces | None] = ContextVar("fivefold_fit_device", default=None)


@contextmanager
def fits_on(device: str | None) -> Iterator[dict[str, str]]:
    """Fit arrays on this device of torch where a method can; gives the place of each method's fits. None: as usual."""
    if device not in NEEDS_NO_HARDWARE:
        check_device(device)
    places = None if device is None else FitPlaces(device)
    token = ASKED.set(places)
    try:
        yield {} if places is None else places.seen
    finally:
        ASKED.reset(token)


def fit_on_asked_device(fit: Callable[..., E], estimator: Any, X: UserTable, *args: object, **options: object) -> bool:
    """Fit to a copy of X on the device that was asked for; False, and nothing is done, if there is none for this fit.

    The estimator is of any method, so that a checker sees Any.
    """
    places = ASKED.get()
    if places is None or not get_tags(estimator).target_tags.required:
        return False
    name = type(estimator).__name__
    if not estimator.takes.tensors or type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind != "f" or 0 in X.shape:
        places.seen.setdefault(name, "cpu")
        return False
    import torch

    table = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64))
    there = table.new_empty(1, device=places.device).expand(table.shape)  # a stand-in, of which no value is read
    if estimator._host_reason(there):  # asked before a copy is made: nobody has to be warned of one
        places.seen.setdefault(name, "cpu")
        return False
    with words_for_full_memory(estimator, table.new_empty(0, device=places.device)):
        table = table.to(places.device)
    with place_of_fit(estimator, table):
        fit(estimator, table, *args, **options)
    del vars(estimator)["_kind"]  # X was an array, and so is what is learned from it
    places.seen[name] = str(table.device)
    return True


def check_device(name: str) -> str:
    """The name of a device that torch can use here, such as cuda or cuda:1; raises ValueError in words."""
    kind, _, number = name.partition(":")
    if kind != "cuda" or (number and not number.isdigit()):
        raise ValueError(f"a device is cuda, or cuda:1 for the second GPU; got {name!r}")
    try:
        import torch
    except ImportError:
        raise ValueError(f"{name} needs torch, which is not installed: pip install 'fivefold[neural]'") from None
    if not torch.cuda.is_available():
        built = "sees no GPU on this machine" if torch.version.cuda else "was built for the CPU alone"
        raise ValueError(f"{name} is not there: torch {torch.__version__} {built}")
    if int(number or 0) >= torch.cuda.device_count():
        raise ValueError(f"{name} is not there: torch sees {torch.cuda.device_count()} GPU, numbered from 0")
    return name


@cache
def start_device(name: str) -> None:
    """Import torch and start the device, so that no fit is timed with it."""
    import torch

    torch.zeros(1, device=name)
