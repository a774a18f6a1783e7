"""A study resumed: what its journal holds from the start, and the same plan made again from that.

The clock enters a plan through measured costs, so the options that followed from them are stored and used again. A
study is resumed only as it began: with the same data, options and versions, and so with the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from fivefold.study.environment import installed_versions, relevant_packages
from fivefold.study.planning.plan import FitCost, Options, Plan, plan_from_options, plan_to_json
from fivefold.study.running.journal import Journal
from fivefold.study.tables.dataset import BadInput, Data

PARTS_OF_PLAN = {  # as errors call those whose name is not enough
    "skipped": "the methods left out",
    "outer": "the outer splits",
    "inner": "the inner splits",
    "holdout": "the hold-out",
    "sequences": "the columns of sequences",
    "cuts": "what a budget changed",
}


def initial_record(plan: Plan, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a journal before the first fold; `asked` are the options of the user, as plain values."""
    return {
        "asked": dict(asked),
        "data": plan.data.digest,
        "versions": installed_versions(relevant_packages(plan)),
        "plan": plan_to_json(plan),
        "probe": {
            "options": asdict(plan.options),
            "costs": {name: asdict(cost) for name, cost in plan.costs.items()},
            "budget": plan.budget,
            "jobs": plan.jobs,
            "warnings": list(plan.warnings),
            "cuts": list(plan.cuts),
        },
    }


def restore_plan(data: Data, journal: Journal) -> Plan:
    """The plan that the study began with; raises BadInput, with the differences, if it cannot be restored."""
    then, now = journal.get("versions"), installed_versions(journal.get("versions"))
    changed = [
        f"{name} {now.get(name, 'not installed')} (then {then[name]})" for name in then if now.get(name) != then[name]
    ]
    if data.digest != journal.get("data"):
        rows = journal.get("plan")["data"]["rows"]
        changed.append(f"the data: {len(data.y)} rows (then {rows}){', other values' * (len(data.y) == rows)}")
    if changed:
        raise resume_error(changed)
    probe = journal.get("probe")
    plan = replace(
        plan_from_options(data, Options(**probe["options"] | {"names": tuple(probe["options"]["names"])})),
        costs={name: FitCost(**cost) for name, cost in probe["costs"].items()},
        budget=probe["budget"],
        jobs=probe["jobs"],
        warnings=tuple(probe["warnings"]),
        cuts=tuple(probe.get("cuts", ())),
    )
    before, after = (_without_reasons(entry) for entry in (journal.get("plan"), plan_to_json(plan)))
    if changed := [PARTS_OF_PLAN.get(name, f"the {name}") for name in before if before[name] != after.get(name)]:
        raise resume_error(changed)
    return plan


def _without_reasons(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without the reasons why methods were left out, which decide nothing and may be put in other words."""
    return {**plan, "skipped": list(plan["skipped"])}


def resume_error(changed: list[str]) -> BadInput:
    """The error for a study that cannot be resumed."""
    return BadInput(
        f"this study cannot be resumed, because something has changed since it began: {'; '.join(changed)}. Restore "
        "that, or start again with --overwrite"
    )
