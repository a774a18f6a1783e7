"""What was tuned: settings tried and chosen, ranges extended, the members of the blend, what a budget changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from fivefold.study.formatting import format_count, format_number, format_seconds, format_setting
from fivefold.study.judging.results import LearnerResult, Results
from fivefold.study.judging.tuning_summary import (
    chosen_settings,
    member_weights,
    range_notes,
    tried_per_split,
    was_tuned,
)
from fivefold.study.planning.plan import Plan
from fivefold.study.report.blocks import Block, BulletList, Cell, CollapsedBlocks, Paragraph, SubHeading, TableBlock

MAX_SETTINGS_LISTED = 40  # settings listed per learner


def tuning_blocks(results: Results) -> list[Block]:
    """Everything about the choice of settings."""
    tuned = [judged for judged in results.judged if was_tuned(judged.outcome)]
    blocks: list[Block] = [Paragraph(_describe_tuning(results.plan, tuned))]
    if tuned:
        blocks.append(_chosen_table(tuned))
    if notes := [f"{judged.name}: {note}." for judged in tuned for note in range_notes(judged.outcome)]:
        blocks.append(CollapsedBlocks("Ranges that were extended", (BulletList(tuple(notes)),)))
    blocks += [CollapsedBlocks(f"{j.name}: every setting tried", tuple(_tried_tables(j))) for j in tuned]
    for judged in results.judged:
        if judged.outcome.learner.members:
            blocks += [SubHeading(f"What {judged.name} is made of"), *_blend_blocks(results.plan, judged)]
    return blocks


def budget_blocks(plan: Plan) -> list[Block]:
    """How a budget changed the plan."""
    if plan.budget is None:
        return []
    if not plan.cuts and not plan.skipped:
        return [Paragraph(f"The budget of {format_seconds(plan.budget)} left room for everything.")]
    said = f"The budget of {format_seconds(plan.budget)} changed the plan, by the time that fits took beforehand:"
    lost = tuple(f"{name} is left out: {reason}" for name, reason in plan.skipped.items())
    return [Paragraph(said), BulletList((*plan.cuts, *lost))]


def _describe_tuning(plan: Plan, tuned: Sequence[LearnerResult]) -> str:
    if not tuned:
        return "Nothing was tuned: every learner has one setting."
    inner = format_count(plan.tuning_folds, "inner fold")
    said = (
        f"Tuning is part of training: in every split the defaults and other settings are tried on {inner} of the "
        "training rows, and the best one is fitted on all of them. If the choice varies between splits, it matters "
        "little."
    )
    shares = sorted({one.share for judged in tuned for fold in judged.outcome.folds for one in fold.dropped})
    if shares and plan.racing:
        said += (
            " The settings of an ensemble race: all are tried on the first inner fold, and the best third of them and "
            "the defaults on the others, too."
        )
    elif shares:
        parts = " and ".join(f"{share:.0%}" for share in shares)
        said += (
            f" Settings were halved: some fell out after a trial on {parts} of the rows; the better ones and the "
            "defaults were tried on all rows. Losses are compared among settings that were tried on the same rows."
        )
    return said


def _chosen_table(tuned: Sequence[LearnerResult]) -> TableBlock:
    """The settings chosen for each learner, most frequent first."""
    rows = []
    for judged in tuned:
        folds, won = judged.outcome.folds, chosen_settings(judged.outcome.folds)
        often = "; ".join(f"{text} ({n} of {len(folds)})" for text, n in won[:3])
        more = f"; {format_count(len(won) - 3, 'other')}" if len(won) > 3 else ""
        rows.append((Cell(judged.name), Cell(tried_per_split(folds)), Cell(often + more)))
    return TableBlock("Chosen settings, and in how many splits", ("learner", "tried", "chosen"), tuple(rows))


def _tried_tables(judged: LearnerResult) -> list[Block]:
    """Inner losses, averaged over the splits: of settings that were tried on all rows, and of those that fell out."""
    losses, early = defaultdict[str, list[float]](list), defaultdict[tuple[float, str], list[float]](list)
    for fold in judged.outcome.folds:
        for parameters, loss in fold.tried:
            losses[format_setting(parameters)].append(loss)
        for one in fold.dropped:
            early[one.share, format_setting(one.setting)].append(one.loss)
    won = Counter(dict(chosen_settings(judged.outcome.folds)))
    whole = tuple(
        (Cell(text), _loss_cell(found), Cell(str(len(found)), len(found)), Cell(str(won[text]), won[text]))
        for text, found in sorted(losses.items(), key=lambda item: float(np.mean(item[1])))[:MAX_SETTINGS_LISTED]
    )
    header = ("setting", "mean inner loss", "splits", "times chosen")
    tables: list[Block] = [TableBlock(f"Settings of {judged.name} tried on all rows", header, whole)]
    if early:
        fallen = tuple(
            (Cell(text), Cell(f"{share:.0%}", share), _loss_cell(found), Cell(str(len(found)), len(found)))
            for (share, text), found in sorted(early.items(), key=lambda item: (-item[0][0], float(np.mean(item[1]))))
        )
        header = ("setting", "of the rows", "mean inner loss", "splits")
        tables.append(
            TableBlock(f"Settings of {judged.name} that fell out before", header, fallen[:MAX_SETTINGS_LISTED])
        )
    return tables


def _loss_cell(found: Sequence[float]) -> Cell:
    return Cell(format_number(float(np.mean(found)), 4), float(np.mean(found)))


def _blend_blocks(plan: Plan, judged: LearnerResult) -> list[Block]:
    members, splits = member_weights(judged.outcome), len(judged.outcome.folds)
    joined = (
        "A weighted mean of the numbers that other learners predict."
        if plan.classes is None
        else "The product of the probabilities that other learners give, each raised to a power, scaled to add up to "
        "one; the weights below are the shares of the powers."
    )
    said = (
        f"{joined} In every split the weights are those that make the targets of the training rows likeliest, each row "
        "predicted by models of inner folds that did not see it; on few rows they stay near weights that say how "
        "plausibly each learner is the best. Learners with hardly any weight are left out. The blend is judged on the "
        "test rows like any learner."
    )
    rows = tuple(
        (Cell(m.name), Cell(f"{m.weight:.0%}", m.weight), Cell(f"{m.splits} of {splits}", m.splits)) for m in members
    )
    return [Paragraph(said), TableBlock("Members of the blend", ("learner", "mean weight", "splits"), rows)]
