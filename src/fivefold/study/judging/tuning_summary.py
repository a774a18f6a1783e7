"""What tuning did, read from the folds: settings tried and chosen, ranges extended, the members of a blend."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.study.formatting import format_setting, join_names
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.run import LearnerOutcome


@dataclass(frozen=True)
class MemberWeight:
    """A member of a blend: its mean share of the weights over the splits, and in how many of them it had one."""

    name: str
    weight: float
    splits: int


def was_tuned(outcome: LearnerOutcome) -> bool:
    """Did it choose among several settings?"""
    return any(len(fold.tried) + len(fold.dropped) > 1 for fold in outcome.folds)


def tried_per_split(folds: Sequence[FoldResult]) -> str:
    """How many settings were tried in a split, from the least to the most."""
    counts = [len(fold.tried) + len(fold.dropped) for fold in folds]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def chosen_settings(folds: Sequence[FoldResult]) -> list[tuple[str, int]]:
    """The chosen settings, in words, and how often each was chosen; the most frequent first."""
    return Counter(format_setting(fold.parameters) for fold in folds).most_common()


def range_notes(outcome: LearnerOutcome, *, only_at_edge: bool = False) -> list[str]:
    """Parameters whose range was extended, since the choice lay at its end, and those where it still does."""
    splits = len(outcome.folds)
    extended = Counter(name for fold in outcome.folds for name in fold.extended)
    at_edge = Counter(name for fold in outcome.folds for name in fold.at_edge)
    notes = []
    for name, count in extended.items():
        edge = f"the choice still lies at the end in {at_edge[name]}" if at_edge[name] else ""
        if edge or not only_at_edge:
            said = f"the range of {name} was extended in {count} of {splits} splits"
            notes.append(f"{said}, and {edge}: a wider range may do better" if edge else said)
    return notes


def member_weights(outcome: LearnerOutcome) -> list[MemberWeight]:
    """The members of a blend, the heaviest first."""
    weights = defaultdict[str, list[float]](list)
    for fold in outcome.folds:
        total = sum(share.weight for share in fold.parameters.values())
        for name, share in fold.parameters.items():
            weights[name].append(share.weight / total)
    found = [MemberWeight(name, float(np.sum(w)) / len(outcome.folds), len(w)) for name, w in weights.items()]
    return sorted(found, key=lambda member: -member.weight)


def describe_members(outcome: LearnerOutcome, most: int = 4) -> str:
    """The heaviest members of a blend with their mean weights."""
    found = member_weights(outcome)
    shown = [f"{member.name} {member.weight:.0%}" for member in found[:most]]
    rest = sum(member.weight for member in found[most:])
    return join_names([*shown, f"others {rest:.0%}"] if len(found) > most else shown)
