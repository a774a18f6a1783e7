"""Several studies compared: the same learners over several data sets, by their ranks on each.

On every data set the learners are ranked by the first score of its study; Friedman's test asks whether all are equal
and, if they are not, Nemenyi's test which of them differ (`evaluation.comparison.friedman`). It allows for all pairs,
so the learner that turned out best may be compared with the others. With few data sets no
difference of ranks can exceed the critical difference; then there is no test, and a note says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from fivefold.evaluation.comparison import Friedman, friedman_test, nemenyi
from fivefold.evaluation.scores import KNOWN_SCORES
from fivefold.study.formatting import format_count
from fivefold.study.tables.dataset import BadInput

MIN_DATA_SETS = 10  # with fewer, the distribution of the test statistic is approximate
RESULTS_FILE = "results.json"


@dataclass(frozen=True)
class StudySummary:
    """The learners of a finished study, by the score that ranked them."""

    path: str
    data: str
    digest: str
    score: str
    means: dict[str, float]  # mean score of each learner that finished
    baselines: frozenset[str]

    @property
    def larger_is_better(self) -> bool:
        return KNOWN_SCORES[self.score].larger_is_better


@dataclass(frozen=True)
class StudyComparison:
    """Learners over data sets: scores, ranks, and the test if there is one."""

    studies: tuple[StudySummary, ...]
    learners: tuple[str, ...]  # those of every study, the best mean rank first
    scores: np.ndarray  # (studies, learners)
    ranks: np.ndarray  # (studies, learners), 1 is the best
    test: Friedman | None
    against_best: dict[str, float]  # Nemenyi's p-values of the others; none unless Friedman's test rejects
    notes: tuple[str, ...]

    @property
    def mean_ranks(self) -> np.ndarray:
        return np.asarray(self.ranks.mean(axis=0))

    @property
    def first(self) -> tuple[str, ...]:
        """The learner with the best mean rank, or those that share it."""
        equal = np.isclose(self.mean_ranks, self.mean_ranks[0], rtol=0, atol=1e-9)
        return tuple(name for name, one in zip(self.learners, equal, strict=True) if one)


def read_study(source: Path) -> StudySummary:
    """The results of a study, from its folder or its results.json."""
    path = source / RESULTS_FILE if source.is_dir() else source
    if not path.is_file():
        raise BadInput(f"{source}: there is no {RESULTS_FILE}; give the folder that fivefold study wrote (--out)")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        score = found["plan"]["scores"][0]
        done = [entry for entry in found["learners"] if entry["status"] == "ok"]
        means = {entry["name"]: float(entry["summary"][score]["mean"]) for entry in done}
        baselines = frozenset(entry["name"] for entry in done if entry["baseline"])
        data, digest = found["data"]["name"], found["data"].get("digest", "")
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"{path} is not the results file of a study, or is damaged ({type(error).__name__}: {error})"
        ) from None
    if score not in KNOWN_SCORES:
        raise BadInput(f"{path} ranks by {score!r}, which this version does not know")
    return StudySummary(str(source), data, digest, score, means, baselines)


def compare_studies(sources: Sequence[Path]) -> StudyComparison:
    """Compare studies; raises BadInput if they have too little in common."""
    if len(sources) < 2:
        raise BadInput(f"a comparison needs at least two studies; got {len(sources)}")
    studies = tuple(map(read_study, sources))
    shared = [name for name in studies[0].means if all(name in study.means for study in studies)]
    if len(shared) < 2:
        raise BadInput(
            f"these studies have {format_count(len(shared), 'learner')} in common that finished in all; at least two "
            "are needed. Run them with the same --methods"
        )
    scores = np.array([[study.means[name] for name in shared] for study in studies])
    losses = np.where([[study.larger_is_better] for study in studies], -scores, scores)
    ranks = rankdata(losses, axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    learners = tuple(shared[i] for i in order)
    test, notes = _friedman_or_note(studies, learners, losses[:, order])
    against = dict[str, float]()
    if test is not None and test.rejected:
        against = dict(zip(learners[1:], nemenyi(test)[0, 1:].tolist(), strict=True))
    return StudyComparison(
        studies=studies,
        learners=learners,
        scores=scores[:, order],
        ranks=ranks[:, order],
        test=test,
        against_best=against,
        notes=(*_exclusion_notes(studies, shared), *notes),
    )


def comparison_to_json(found: StudyComparison) -> dict[str, Any]:
    """The comparison as plain values."""
    test = found.test
    return {
        "studies": [{"path": s.path, "data": s.data, "score": s.score} for s in found.studies],
        "learners": [
            {"name": name, "mean_rank": float(found.mean_ranks[j]), "scores": found.scores[:, j].tolist()}
            for j, name in enumerate(found.learners)
        ],
        "friedman": None
        if test is None
        else {
            "statistic": test.statistic if np.isfinite(test.statistic) else None,
            "dof": list(test.dof),
            "p_value": test.p_value,
            "critical_difference": test.critical_difference,
            "groups": [list(group) for group in test.groups],
            "against_best": found.against_best,
            "assumptions": list(test.assumptions),
        },
        "notes": list(found.notes),
    }


def _friedman_or_note(
    studies: Sequence[StudySummary], learners: tuple[str, ...], losses: np.ndarray
) -> tuple[Friedman | None, tuple[str, ...]]:
    """Friedman's test, or a note on why there is none."""
    names = [study.digest or study.data for study in studies]
    if len(set(names)) < len(names):
        twice = sorted({study.data for study, name in zip(studies, names, strict=True) if names.count(name) > 1})
        return None, (
            f"no test: {', '.join(twice)} is studied more than once, and scores on the same data are not independent",
        )
    found = friedman_test(losses, learners, names, larger_is_better=False)
    if found.critical_difference >= len(learners) - 1:
        return None, (
            f"no test: {len(studies)} data sets are too few for {len(learners)} learners. Even the same order on "
            "every one would not be a significant difference",
        )
    rough = f"{len(studies)} data sets are few: below {MIN_DATA_SETS} the p-value is approximate"
    return found, (rough,) if len(studies) < MIN_DATA_SETS else ()


def _exclusion_notes(studies: Sequence[StudySummary], shared: list[str]) -> list[str]:
    every = dict.fromkeys(name for study in studies for name in study.means)
    lost = [name for name in every if name not in shared]
    mixed = sorted({study.score for study in studies})
    notes = [f"not in every study, and left out: {', '.join(lost)}"] if lost else []
    return notes + ([f"the studies are ranked by different scores: {', '.join(mixed)}"] if len(mixed) > 1 else [])
