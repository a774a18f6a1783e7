"""A study in its journal: what is written when it begins, and the same plan again when it goes on.

The clock enters a plan through what the probe found, so the options that came of it are kept and used again. A study
goes on only as it began: same data, same options, same versions, and so the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from fivefold.study.judging.results import installed_versions, relevant_packages
from fivefold.study.planning.plan import FitCost, Options, Plan, plan_from_options, plan_to_json
from fivefold.study.running.journal import Journal
from fivefold.study.tables.dataset import BadInput, Data


def initial_record(plan: Plan, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a journal holds before the first fold: `asked` is what the user asked for, in plain values."""
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
        },
    }


def restore_plan(data: Data, journal: Journal) -> Plan:
    """The plan that the study began with; refused, with what differs, when that cannot be."""
    then, now = journal.get("versions"), installed_versions(journal.get("versions"))
    changed = [
        f"{name} {now.get(name, 'not there')} (then {then[name]})" for name in then if now.get(name) != then[name]
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
    )
    before, after = journal.get("plan"), plan_to_json(plan)
    if changed := [f"the plan, in its {name}" for name in before if before[name] != after.get(name)]:
        raise resume_error(changed)
    return plan


def resume_error(changed: list[str]) -> BadInput:
    """Why a study cannot go on."""
    return BadInput(
        f"this study cannot be resumed, for this is not what it began with: {'; '.join(changed)}. Put it back, or "
        "start again with --overwrite"
    )
