"""Contestants: the same estimator of several libraries, or plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sklearn.base import clone

from benchmarks.harness.case import OURS, Absent, Call, Contestant, Data

# What the table calls a library, and the package that holds its chapters.
LIBRARIES = {"scikit-learn": "sklearn", "Intel extension": "sklearnex", OURS: "fivefold"}

Task = Callable[[Any, Data], Call]


def drop_in(path: str, task: Task, **params: Any) -> Mapping[str, Contestant]:
    """The estimator `path`, such as "cluster.KMeans", of every library that has it."""
    return {name: _contestant(name, path, task, params) for name in LIBRARIES}


def assembled(make: Callable[[Callable[[str], Any]], Any], task: Task) -> Mapping[str, Contestant]:
    """What `make` puts together from a library's own estimators; it is given the way from a path to a class."""

    def contestant(library: str) -> Contestant:
        return lambda data: task(seeded(make(lambda path: _find(library, path))), data)

    return {name: contestant(name) for name in LIBRARIES}


def beside_sklearn(path: str, task: Task, **params: Any) -> Mapping[str, Contestant]:
    """The estimator of scikit-learn, without its extension, and ours."""
    return {name: one for name, one in drop_in(path, task, **params).items() if name in ("scikit-learn", OURS)}


def function(call: Callable[[Data], Any]) -> Contestant:
    """A plain function of the data, timed as it is."""
    return lambda data: lambda: call(data)


def fit(estimator: Any, data: Data) -> Call:
    """Time `fit`."""
    return lambda: estimator.fit(data.X, data.y)


def predict(estimator: Any, data: Data) -> Call:
    """Time `predict` on the rows of the fit."""
    fitted = estimator.fit(data.X, data.y)
    return lambda: fitted.predict(data.X)


def transform(estimator: Any, data: Data) -> Call:
    """Time `transform` on the rows of the fit."""
    fitted = estimator.fit(data.X, data.y)
    return lambda: fitted.transform(data.X)


def fit_seeds(*seeds: int) -> Task:
    """Time one `fit` for each seed together, so that a lucky draw decides nothing."""

    def task(estimator: Any, data: Data) -> Call:
        return lambda: [clone(estimator).set_params(random_state=seed).fit(data.X, data.y) for seed in seeds]

    return task


def _contestant(library: str, path: str, task: Task, params: Mapping[str, Any]) -> Contestant:
    def prepare(data: Data) -> Call:
        return task(seeded(_find(library, path)(**params, **data.given)), data)

    return prepare


def seeded(estimator: Any) -> Any:
    """The same estimator with a seed for itself and for every member, where they take one and have none."""
    names = [name for name, value in estimator.get_params().items() if name.endswith("random_state") and value is None]
    return estimator.set_params(**dict.fromkeys(names, 0))


def _find(library: str, path: str) -> Any:
    chapter, _, name = path.rpartition(".")
    try:
        return getattr(import_module(f"{LIBRARIES[library]}.{chapter}"), name)
    except (ModuleNotFoundError, AttributeError) as error:
        if library == OURS:
            raise
        raise Absent(f"{library} has no {path}") from error
