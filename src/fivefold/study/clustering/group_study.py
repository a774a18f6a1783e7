"""The study of a table without a target: search for groups, cut all rows, describe the groups, write the files."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import Pipeline

from fivefold.core.storage.atomic_write import write_text
from fivefold.core.types import Codes, Indices, Matrix, Vector
from fivefold.decomposition import PCA
from fivefold.evaluation.grouping.count_choice import CountChoice, gap_statistic, mean_silhouettes, mixture_bic
from fivefold.evaluation.grouping.group_methods import FOUND, GROUP_METHODS
from fivefold.evaluation.grouping.group_search import HOPELESS, GroupSearch, Runner, SearchPlan, search_groups
from fivefold.evaluation.grouping.resampled_stability import Cell
from fivefold.study.clustering.group_model import (
    ESTIMATORS,
    METHOD_NAMES,
    NO_GROUP,
    FoundGroups,
    GroupModel,
    find_groups,
)
from fivefold.study.clustering.group_profiles import GroupProfile, profile_groups
from fivefold.study.clustering.group_table import PreparedTable, prepare_table
from fivefold.study.environment import installed_versions, to_plain_values
from fivefold.study.formatting import format_count, format_number
from fivefold.study.models.model_file import ModelFile, Schema, save_model
from fivefold.study.tables.dataset import BadInput, Data

MAX_JUDGED_ROWS = 500  # rows of the test: more make it slower, and clear groups show in these
MIN_JUDGED_ROWS = 100  # however short the budget
MAX_SHOWN_ROWS = 2_000  # rows of silhouettes and of the map
BORDERLINE = 0.6  # strength below which a row stands between groups
NO_GROUP_NAME = "none"
OUTPUT_FILES = ("results.json", "report.html", "report.md", "labels.csv", "model.skops")
REFERENCE_WORDS = {
    "gaussian": "a single Gaussian",
    "uniform": "uniform noise in a box",
    "one-peak": "correlated columns of one peak each",
    "heavy": "a single cloud with heavy tails",
}


@dataclass(frozen=True)
class GroupOptions:
    """What decides the result."""

    methods: tuple[str, ...] = tuple(GROUP_METHODS)
    max_groups: int = 8
    seed: int = 0


@dataclass(frozen=True)
class GroupStudy:
    """What was found about a table; `groups` is None if none are claimed."""

    data: Data
    options: GroupOptions
    search: GroupSearch
    judged: Indices  # rows of the test
    choices: tuple[CountChoice, ...]  # by criteria that are no tests
    groups: FoundGroups | None
    cell: Cell | None  # method and number of groups that were chosen
    profiles: tuple[GroupProfile, ...]
    map: Matrix  # (n, 2), principal components
    map_shares: tuple[float, ...]  # of the variance
    shown: Indices  # rows of the figures
    silhouettes: Vector  # of the rows shown that are in a group
    command: str = ""
    seconds: float = 0.0

    @property
    def codes(self) -> Codes:
        """The group of each row; one for all if none are claimed."""
        return np.zeros(len(self.data.y), dtype=np.int64) if self.groups is None else self.groups.codes

    @property
    def strength(self) -> Vector:
        """How strongly each row belongs to its group."""
        return np.ones(len(self.data.y)) if self.groups is None else self.groups.strength

    @property
    def method(self) -> str:
        """The method that was chosen, as people call it."""
        return "" if self.cell is None else METHOD_NAMES[self.cell[0]]

    @property
    def borderline(self) -> Indices:
        """Rows between groups, the weakest first."""
        if self.groups is None or self.cell is None:
            return np.zeros(0, dtype=np.int64)
        weak = (self.strength < BORDERLINE) & (self.cell[1] != FOUND)  # by density, strength falls towards every edge
        rows = np.flatnonzero((self.codes == NO_GROUP) | weak)
        return rows[np.argsort(np.where(self.codes[rows] == NO_GROUP, 2.0, self.strength[rows]), kind="stable")]

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        search = self.search
        if self.groups is not None and self.cell is not None:
            S = search.observed.mean[search.cells.index(self.cell)]
            return (
                f"{self.groups.count} groups, found by {self.method}: stability {format_number(S, 2)} where data "
                f"without groups gave {format_number(search.null_limit(self.cell), 2)} at most "
                f"(p ≤ {format_number(search.p_value)})."
            )
        why = f"the rows may come from {REFERENCE_WORDS[search.explanation]}"
        if search.full and search.p_value <= search.level:
            why = "rows differ from data without groups, but no cut of them is stable enough to be named"
        elif not search.full and search.p_value <= HOPELESS:
            why = "the time was up before groups could be told from chance"
        p = f"p = {format_number(search.p_value, 2)}"
        if search.p_value > search.level:
            p += f"; groups are claimed up to {search.level:g}"
        return f"No groups: {why} ({p})."


def judged_rows(table: PreparedTable, seed: int, most: int = MAX_JUDGED_ROWS) -> Indices:
    """Rows of the test, without copies, drawn at random if there are more than `most`."""
    rows = table.distinct
    if len(rows) > most:
        rows = np.sort(np.random.default_rng([seed, 1]).choice(rows, most, replace=False))
    return rows


def run_group_study(
    data: Data,
    options: GroupOptions,
    make_runner: Callable[[SearchPlan], Runner | None] = lambda plan: None,
    step: Callable[[str], None] = lambda text: None,
    *,
    seconds: float | None = None,
    jobs: int = 1,
) -> GroupStudy:
    """Search for groups and describe them.

    Parameters
    ----------
    make_runner
        How the tables of a plan are measured, such as by worker processes.
    step
        Told what is done next.
    seconds
        Time for the search: rows of the test are fewer if it is short.
    jobs
        Processes that share the search.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on components and copies, which cuts into too many groups have
        return _run_group_study(data, options, make_runner, step, seconds, jobs)


def _run_group_study(
    data: Data,
    options: GroupOptions,
    make_runner: Callable[[SearchPlan], Runner | None],
    step: Callable[[str], None],
    seconds: float | None,
    jobs: int,
) -> GroupStudy:
    began = time.monotonic()
    table = prepare_table(data)
    if len(table.distinct) < 4:
        raise BadInput(f"{data.name}: only {len(table.distinct)} rows differ; there is nothing to group")
    rows = judged_rows(table, options.seed)
    top = max(2, min(options.max_groups, len(rows) // 10))
    plan = _plan(table, rows, options, top)
    if seconds is not None:
        start = time.monotonic()
        plan.measure((-1, 0))  # compiles
        start = time.monotonic()
        plan.measure((-1, 0))
        need = (time.monotonic() - start) * 40 * len(plan.references) / jobs
        if need > seconds:
            fewer = int(max(MIN_JUDGED_ROWS, len(rows) * (seconds / need) ** 0.6))
            rows = judged_rows(table, options.seed, fewer)
            top = max(2, min(options.max_groups, len(rows) // 10))
            plan = _plan(table, rows, options, top)
    ends = float("inf") if seconds is None else began + seconds
    search = search_groups(plan, make_runner(plan), may_go_on=lambda: time.monotonic() < ends)
    step("cutting all rows and describing the groups")
    cuts = ((cell, _cut(table, cell, rows, options)) for cell in search.claims())
    cell, groups = next(((cell, cut) for cell, cut in cuts if cut is not None), (None, None))
    judged = plan.X
    choices = (
        gap_statistic(judged, top, tables=10, seed=options.seed),
        mixture_bic(judged, top, seed=options.seed),
        mean_silhouettes(judged, top, seed=options.seed),
    )
    pca = PCA(min(2, table.Z.shape[1])).fit(table.Z)
    places = np.asarray(pca.transform(table.Z))
    if places.shape[1] == 1:
        places = np.column_stack([places, np.zeros(len(places))])
    shown = np.arange(len(data.y))
    if len(shown) > MAX_SHOWN_ROWS:
        shown = np.sort(np.random.default_rng([options.seed, 2]).choice(len(shown), MAX_SHOWN_ROWS, replace=False))
    widths = np.full(len(shown), np.nan)
    if groups is not None:
        held = groups.codes[shown] != NO_GROUP
        if len(np.unique(groups.codes[shown][held])) > 1:
            widths[held] = silhouette_samples(table.Z[shown][held], groups.codes[shown][held])
    found = GroupStudy(
        data=data,
        options=replace(options, max_groups=top),
        search=search,
        judged=rows,
        choices=choices,
        groups=groups,
        cell=cell,
        profiles=() if groups is None else tuple(profile_groups(data, groups.codes, groups.count)),
        map=places,
        map_shares=tuple(float(share) for share in pca.explained_variance_ratio_),
        shown=shown,
        silhouettes=widths,
        seconds=time.monotonic() - began,
    )
    return found


def _plan(table: PreparedTable, rows: Indices, options: GroupOptions, top: int) -> SearchPlan:
    X = np.ascontiguousarray(table.Z[rows])
    spread = X.std(axis=0)
    kept = np.flatnonzero(spread > 0)  # constant among these rows
    place = {int(j): i for i, j in enumerate(kept)}
    blocks = [[place[j] for j in block if j in place] for block in table.blocks]
    X = np.ascontiguousarray(X[:, kept])
    return SearchPlan.of(X, options.methods, top, blocks=[b for b in blocks if b], seed=options.seed)


def _cut(table: PreparedTable, cell: Cell, rows: Indices, options: GroupOptions) -> FoundGroups | None:
    """The cut of all rows; None if a method that finds the number of groups finds fewer than two."""
    found = find_groups(table.Z, cell, len(rows), options.seed)
    return found if found.count > 1 and len(np.unique(found.codes[found.codes != NO_GROUP])) > 1 else None


def write_group_files(study: GroupStudy, folder: Path) -> dict[str, Path | None]:
    """Write labels.csv, results.json, report.html, report.md and, if the method knows new rows, model.skops."""
    from fivefold.study.clustering.group_report import write_group_report  # it draws figures: slow to import

    names = [NO_GROUP_NAME if code == NO_GROUP else str(code + 1) for code in study.codes]
    at = np.arange(1, len(names) + 1) if study.data.rows is None else study.data.rows
    labels = pl.DataFrame({"row": at, "group": names, "strength": np.round(study.strength, 4)})
    files: dict[str, Path | None] = {"labels": write_text(folder / "labels.csv", labels.write_csv()), "model": None}
    if study.groups is not None and study.groups.estimator is not None:
        files["model"] = save_model(_model_file(study), folder / "model.skops")
    text = json.dumps(to_plain_values(group_results(study)), indent=1, ensure_ascii=False)
    files["results"] = write_text(folder / "results.json", text + "\n")
    files["report"] = write_group_report(study, folder)
    return files


def _model_file(study: GroupStudy) -> ModelFile:
    assert study.groups is not None and study.cell is not None
    table = prepare_table(study.data)
    method = GroupModel(study.groups.estimator, study.groups.order)
    pipeline = Pipeline([("prepare", table.transformer), ("method", method)])
    named = replace(study.data, y=np.array([str(code + 1) for code in study.codes]))
    name, K = study.cell
    card = {
        "method": ESTIMATORS[name],
        "parameters": {"n_clusters" if name == "kmeans" else "n_components": K},
        "verdict": study.verdict,
        "data": {"name": study.data.name, "rows_fitted": len(study.data.y), "digest": study.data.digest},
        "versions": installed_versions(),
    }
    return ModelFile(pipeline, Schema.of(named), card)


def group_results(study: GroupStudy) -> dict[str, Any]:
    """All that was found, as plain values."""
    search = study.search
    sizes = np.bincount(study.codes[study.codes != NO_GROUP])
    cells = [
        {
            "method": METHOD_NAMES[cell[0]],
            "groups": None if cell[1] == FOUND else cell[1],
            "stability": search.observed.mean[c],
            "standard_error": search.observed.standard_error[c],
            "reference_mean": search.null[:, :, c].mean(axis=1).max(),
            "reference_max": search.null[:, :, c].max(),
            "p_value": search.cell_p_values[c],
        }
        for c, cell in enumerate(search.cells)
    ]
    return {
        "verdict": study.verdict,
        "groups": 1 if study.groups is None else study.groups.count,
        "method": study.method or None,
        "p_value": search.p_value,
        "level": search.level,
        "references": {
            name: {"p_value": p, "tables": search.null.shape[1]}
            for name, p in zip(search.references, search.reference_p_values, strict=True)
        },
        "cells": cells,
        "criteria": {one.criterion: one.chosen for one in study.choices},
        "sizes": sizes.tolist(),
        "unassigned": int((study.codes == NO_GROUP).sum()),
        "profiles": [str(profile) for profile in study.profiles],
        "data": {
            "name": study.data.name,
            "rows": len(study.data.y),
            "judged_rows": len(study.judged),
            "columns": [column.name for column in study.data.columns if column.kind != "identifier"],
            "digest": study.data.digest,
        },
        "notes": list(study.data.notes),
        "warnings": list(study.data.warnings),
        "seed": study.options.seed,
        "command": study.command,
        "versions": installed_versions(),
    }


def sampling_note(study: GroupStudy) -> str:
    """A note if the test looked at a part of the rows; otherwise nothing."""
    n, m = len(study.data.y), len(study.judged)
    return "" if m == n else f"the test was made on {format_count(m, 'row')} of {n:,}; the groups are those of all rows"
