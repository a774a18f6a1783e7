"""The result of a fold as the journal keeps it, plain values and arrays, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from fivefold.study.planning.hyperparameters import Setting
from fivefold.study.planning.portfolio import Learner, MemberShare
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.journal import JournalEntry
from fivefold.study.running.setting_search import DroppedSetting

ARRAY_FIELDS = ("test", "predicted", "proba", "inner", "fitted")  # fields of FoldResult that are arrays


def pack_fold(learner: Learner, fold: FoldResult) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The result of a fold in the form of the journal: plain values, and arrays."""
    found = {field.name: getattr(fold, field.name) for field in fields(fold) if field.name not in ARRAY_FIELDS}
    found["parameters"] = _pack_setting(learner, fold.parameters)
    found["tried"] = [(_pack_setting(learner, setting), loss) for setting, loss in fold.tried]
    found["dropped"] = [(_pack_setting(learner, setting), *rest) for setting, *rest in fold.dropped]
    return found, {name: getattr(fold, name) for name in ARRAY_FIELDS if getattr(fold, name) is not None}


def unpack_fold(learner: Learner, entry: JournalEntry) -> FoldResult:
    """The result of a fold from its entry in the journal."""
    found = dict(entry.found)
    found["parameters"] = _unpack_setting(learner, found["parameters"])
    found["tried"] = tuple((_unpack_setting(learner, stored), loss) for stored, loss in found["tried"])
    found["dropped"] = tuple(DroppedSetting(_unpack_setting(learner, s), *rest) for s, *rest in found["dropped"])
    found |= {name: tuple(found[name]) for name in ("extended", "at_edge")}
    return FoldResult(**{**found, **entry.arrays})


def _pack_setting(learner: Learner, setting: Setting) -> object:
    """Its position among the settings of the learner, or plain values: beyond their ranges, or of a blend."""
    if learner.members:
        members = {member.name: member for member in learner.members}
        return {name: (share.weight, _pack_setting(members[name], share.setting)) for name, share in setting.items()}
    return learner.settings.index(setting) if setting in learner.settings else dict(setting)


def _unpack_setting(learner: Learner, stored: Any) -> Setting:
    if learner.members:
        members = {member.name: member for member in learner.members}
        return {name: MemberShare(w, _unpack_setting(members[name], inner)) for name, (w, inner) in stored.items()}
    return learner.settings[stored] if isinstance(stored, int) else stored
