"""The report of a study of groups: verdict, groups in words, evidence, data, how to repeat it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fivefold
from fivefold.evaluation.grouping.group_methods import FOUND
from fivefold.plot.style import colour
from fivefold.study.clustering.group_model import METHOD_NAMES, NO_GROUP
from fivefold.study.clustering.group_study import (
    BORDERLINE,
    NO_GROUP_NAME,
    REFERENCE_WORDS,
    GroupStudy,
    sampling_note,
)
from fivefold.study.formatting import KIND_NOUNS, format_count, format_number, join_names
from fivefold.study.preparation.column_transformer import describe_treatment
from fivefold.study.report.blocks import (
    Block,
    BulletList,
    Cell,
    Code,
    CollapsedBlocks,
    Figure,
    FigureRow,
    KeyFigures,
    Page,
    Paragraph,
    Section,
    SubHeading,
    TableBlock,
)
from fivefold.study.report.page import save_text, to_html, to_markdown
from fivefold.study.report.svg import draw_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_BORDERLINE_SHOWN = 12  # rows named
CRITERION_NAMES = {"gap": "gap statistic", "bic": "BIC", "silhouette": "silhouette"}
GREY = "#8a8f98"  # of rows in no group, and of reference data


def write_group_report(study: GroupStudy, folder: Path) -> Path:
    """Write FOLDER/report.html and FOLDER/report.md; returns the path of the first."""
    page = group_page(study)
    save_text(to_markdown(page), folder / "report.md")
    return save_text(to_html(page), folder / "report.html")


def group_page(study: GroupStudy) -> Page:
    """The contents of the report."""
    sections = (_result(study), _groups(study), _evidence(study), _data(study), _repeat(study))
    used = sum(column.kind != "identifier" for column in study.data.columns)
    return Page(
        f"Groups in {study.data.name}",
        f"Do the rows fall into groups? {format_count(len(study.data.y), 'row')}, {format_count(used, 'column')}.",
        tuple(section for section in sections if section.blocks),
        f"Written by fivefold {fivefold.__version__}. It needs no network and contains no script.",
    )


def _result(study: GroupStudy) -> Section:
    cautions = [*study.data.warnings, *([sampling_note(study)] if sampling_note(study) else [])]
    warned: list[Block] = [SubHeading("Before you rely on it"), BulletList(tuple(cautions))] if cautions else []
    blocks: tuple[Block, ...] = (
        Paragraph(study.verdict),
        KeyFigures(tuple(_key_figures(study))),
        *warned,
        FigureRow(tuple(_figures(study))),
    )
    return Section("result", "The result", blocks)


def _key_figures(study: GroupStudy) -> list[tuple[str, str, str]]:
    search = study.search
    found = ("none", "one cloud of rows") if study.groups is None else (str(study.groups.count), study.method)
    cards = [("groups", *found)]
    if study.cell is not None:
        at = search.cells.index(study.cell)
        error = format_number(search.observed.standard_error[at], 2)
        cards.append(("stability", format_number(search.observed.mean[at], 2), f"standard error {error}"))
        cards.append(("without groups", format_number(search.null_limit(study.cell), 2), "most in reference data"))
    cards.append(("p-value", format_number(search.p_value, 3), f"groups are claimed at {search.level:g} or less"))
    if study.groups is not None:
        cards.append(("between groups", f"{len(study.borderline):,}", f"of {len(study.data.y):,} rows"))
    return cards


def _figures(study: GroupStudy) -> list[Figure]:
    found = [_map_figure(study)]
    if np.isfinite(study.silhouettes).any():
        found.append(_silhouette_figure(study))
    return [*found, _stability_figure(study)]


def _map_figure(study: GroupStudy) -> Figure:
    rows, codes = study.shown, study.codes[study.shown]

    def draw(ax: Axes) -> None:
        for code in np.unique(codes):
            own = rows[codes == code]
            name = "in no group" if code == NO_GROUP else f"group {code + 1}"
            paint = GREY if code == NO_GROUP or study.groups is None else colour(int(code))
            ax.scatter(study.map[own, 0], study.map[own, 1], s=9, color=paint, alpha=0.75, linewidths=0, label=name)
        for side, share in zip("xy", study.map_shares, strict=False):
            number = "first" if side == "x" else "second"
            ax.set(**{f"{side}label": f"{number} principal component ({share:.0%})"})
        if study.groups is not None:
            ax.legend(fontsize=7, markerscale=1.6, frameon=False)

    what = "coloured by group" if study.groups is not None else "without groups"
    shown = "" if len(rows) == len(study.data.y) else f"; {len(rows):,} rows drawn at random"
    caption = f"The rows, {what}: the two directions in which they vary most{shown}."
    return draw_figure("map", draw, f"Map of the rows, {what}", caption, width=4.2, height=3.5)


def _silhouette_figure(study: GroupStudy) -> Figure:
    codes = study.codes[study.shown]
    order = [
        row
        for k in range(codes.max() + 1)
        for row in sorted(np.flatnonzero(codes == k), key=lambda i: study.silhouettes[i])
    ]
    widths, owners = study.silhouettes[order], codes[order]

    def draw(ax: Axes) -> None:
        for k in np.unique(owners):
            at = np.flatnonzero(owners == k)
            ax.fill_betweenx(at, 0, widths[at], step="mid", color=colour(int(k)), linewidth=0)
            ax.text(0.01, at.mean(), str(k + 1), fontsize=8, va="center")
        ax.axvline(float(np.nanmean(widths)), color="#555", linewidth=0.8, linestyle="--")
        ax.set(xlabel="silhouette", yticks=[], ylabel="rows by group")

    mean = float(np.nanmean(widths))
    caption = f"Silhouettes: near 1 well inside its group, below 0 nearer to another. Mean {mean:.2f} (dashed)."
    return draw_figure("silhouettes", draw, f"Silhouettes of the rows, mean {mean:.2f}", caption, width=4.2, height=3.5)


def _stability_figure(study: GroupStudy) -> Figure:
    search = study.search
    names = list(dict.fromkeys(name for name, _ in search.cells))
    top = study.options.max_groups

    def draw(ax: Axes) -> None:
        for i, name in enumerate(names):
            at = [c for c, cell in enumerate(search.cells) if cell[0] == name]
            counts = [search.cells[c][1] or top + 1 for c in at]
            limits = [search.null[:, :, c].max() for c in at]
            ax.plot(counts, search.observed.mean[at], "o-", color=colour(i), markersize=4, linewidth=1.2,
                    label=METHOD_NAMES[name])  # fmt: skip
            ax.plot(counts, limits, "_" if len(at) == 1 else ":", color=colour(i), markersize=9, linewidth=1.1)
        ticks = list(range(2, top + 1))
        found = any(cell[1] == FOUND for cell in search.cells)
        ax.set_xticks([*ticks, *([top + 1] if found else [])], [*map(str, ticks), *(["found"] if found else [])])
        ax.set(xlabel="number of groups", ylabel="stability", ylim=(-0.05, 1.05))
        ax.legend(fontsize=7, frameon=False)

    caption = "Stability of each cut (points), and the most that data without groups reached (dotted)."
    return draw_figure("stability", draw, "Stability by number of groups and method", caption, width=4.2, height=3.5)


def _groups(study: GroupStudy) -> Section:
    if study.groups is None:
        return Section("groups", "The groups", ())
    n, codes = len(study.data.y), study.codes
    said = tuple(str(profile)[0].upper() + str(profile)[1:] for profile in study.profiles)
    rows = []
    for k in [*range(study.groups.count), *([NO_GROUP] if (codes == NO_GROUP).any() else [])]:
        own = codes == k
        widths = study.silhouettes[codes[study.shown] == k]
        mean = float(np.nanmean(widths)) if np.isfinite(widths).any() else float("nan")
        rows.append(
            (
                Cell("in no group" if k == NO_GROUP else f"group {k + 1}"),
                Cell(f"{own.sum():,}", float(own.sum())),
                Cell(f"{own.sum() / n:.0%}", float(own.mean())),
                Cell(format_number(float(study.strength[own].mean()), 2), float(study.strength[own].mean())),
                Cell(format_number(mean, 2), None if np.isnan(mean) else mean),
            )
        )
    header = ("", "rows", "share", "mean strength", "mean silhouette")
    blocks: list[Block] = [
        BulletList(said),
        TableBlock("Sizes of the groups", header, tuple(rows), name="sizes"),
    ]
    weak = study.borderline
    if len(weak):
        at = study.data.rows if study.data.rows is not None else np.arange(1, n + 1)
        shown = [
            (
                Cell(str(at[i])),
                Cell(NO_GROUP_NAME if codes[i] == NO_GROUP else str(codes[i] + 1)),
                Cell(format_number(float(study.strength[i]), 2), float(study.strength[i])),
            )
            for i in weak[:MAX_BORDERLINE_SHOWN]
        ]
        blocks += [
            SubHeading("Rows between groups"),
            Paragraph(
                f"{format_count(len(weak), 'row')} of {n:,} belong to no group, or to theirs with a strength below "
                f"{BORDERLINE:g}. labels.csv has the group and the strength of every row."
            ),
            TableBlock("The weakest of them, by their line in the table", ("line", "group", "strength"), tuple(shown)),
        ]
    return Section("groups", "The groups", tuple(blocks))


def _evidence(study: GroupStudy) -> Section:
    search, chosen = study.search, study.cell
    rows = []
    for c, cell in enumerate(search.cells):
        S, p = float(search.observed.mean[c]), float(search.cell_p_values[c])
        limit, mean = float(search.null[:, :, c].max()), float(search.null[:, :, c].mean(axis=1).max())
        look = "best" if cell == chosen else ""
        rows.append(
            (
                Cell(METHOD_NAMES[cell[0]], None, look),  # type: ignore[arg-type]  # one of its looks
                Cell("found" if cell[1] == FOUND else str(cell[1])),
                Cell(format_number(S, 2), S),
                Cell(
                    format_number(float(search.observed.standard_error[c]), 2), float(search.observed.standard_error[c])
                ),
                Cell(format_number(mean, 2), mean),
                Cell(format_number(limit, 2), limit),
                Cell(format_number(p, 3), p),
            )
        )
    header = ("method", "groups", "stability", "standard error", "without groups, mean", "at most", "p")
    said = [f"{REFERENCE_WORDS[name]}: p = {p:.3f}" for name, p in
            zip(search.references, search.reference_p_values, strict=True)]  # fmt: skip
    count = format_count(search.null.shape[1], "table")
    drawn = (
        f"drawn from each of {len(said)} references without groups that resemble the rows"
        if len(said) > 1
        else "drawn from a reference without groups that resembles the rows"
    )
    other = [
        f"{CRITERION_NAMES[one.criterion]}: " + ("one group" if one.chosen == 1 else f"{one.chosen} groups")
        for one in study.choices
    ]
    blocks: tuple[Block, ...] = (
        Paragraph(
            f"The whole search was repeated on {count} {drawn}, and groups are claimed only if the clearest cut of the "
            f"rows is clearer than those of all references ({search.level:.1%} chance of a claim where there are none, "
            "for all methods and numbers of groups together). "
            + ("" if search.full else "It ended early, without a claim.")
        ),
        BulletList(tuple(said)),
        TableBlock("Every cut: stability, and what data without groups gave", header, tuple(rows), name="cuts"),
        CollapsedBlocks(
            "How to read this table",
            (
                BulletList(
                    (
                        "Stability: how well cuts of different samples of the rows agree, from 0 (by chance) to 1 "
                        "(adjusted Rand index).",
                        "Without groups: the same on reference data; the mean of the least favourable reference, and "
                        "the largest of all.",
                        "p: judges stability, silhouettes and the valleys between groups together, corrected for all "
                        "methods and numbers of groups; the least favourable reference decides.",
                    )
                ),
            ),
        ),
        SubHeading("Other criteria"),
        Paragraph(
            f"These are no tests and are shown for comparison: {join_names(other)}. Gap and silhouette see groups in "
            "long or skewed clouds, and BIC counts the Gaussians that a density needs."
        ),
    )
    return Section("evidence", "The evidence", blocks)


def _data(study: GroupStudy) -> Section:
    from fivefold.study.clustering.group_table import NEEDS

    data = study.data
    rows = tuple(
        (Cell(c.name), Cell(KIND_NOUNS[c.kind][0]), Cell(f"{c.distinct:,}", float(c.distinct)),
         Cell(f"{c.missing:,}", float(c.missing)), Cell("left out" if c.kind == "identifier" else ""))
        for c in data.columns
    )  # fmt: skip
    blocks: tuple[Block, ...] = (
        TableBlock("Columns", ("column", "kind", "distinct", "missing", ""), rows),
        SubHeading("What was done with them"),
        BulletList((*describe_treatment(NEEDS, data), *data.notes)),
    )
    return Section("data", "The data", blocks, folded=True, summary=format_count(len(data.columns), "column"))


def _repeat(study: GroupStudy) -> Section:
    use: list[Block] = [Code(study.command)] if study.command else []
    if study.groups is not None and study.groups.estimator is not None:
        use += [Paragraph("The group of new rows:"), Code("fivefold predict model.skops new.csv -o groups.csv")]
    elif study.groups is not None:
        use.append(Paragraph(f"{study.method} knows no new rows, so no model is saved; labels.csv has the groups."))
    return Section("repeat", "How to repeat it", tuple(use), folded=True, summary=f"seed {study.options.seed}")
