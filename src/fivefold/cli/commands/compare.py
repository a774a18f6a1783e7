"""`fivefold compare`: learners over the studies of several data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from fivefold.cli.options import JSON_OPTION, Console, refuse, show_json
from fivefold.cli.progress_bar import activity

if TYPE_CHECKING:
    from fivefold.study.judging.study_comparison import StudyComparison

MAX_NAME_LETTERS, MAX_NAME_SHARE = 32, 0.3  # of a learner or a data set; and as a share of the screen
RANK_LETTERS, P_LETTERS, SCORE_LETTERS = 11, 9, 6  # widths of the columns, the first two with the space behind them


def compare(
    studies: Annotated[list[Path], typer.Argument(help="Folders of finished studies, or their results.json files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Page to write.")] = Path("compare.html"),
    as_json: JSON_OPTION = False,
) -> None:
    """Which learner is best over several data sets? Mean ranks, Friedman's test, critical differences."""
    with activity("starting"):
        from fivefold.study.formatting import first_names
        from fivefold.study.judging import study_comparison as comparison
        from fivefold.study.report import study_comparison as comparison_report
        from fivefold.study.tables.dataset import BadInput

    try:
        with activity("comparing the studies"):
            found = comparison.compare_studies(studies)
            path = comparison_report.write_comparison(found, out)
    except BadInput as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"--out {out}: no file can be written there ({error.strerror})")
    if as_json:
        show_json(comparison.comparison_to_json(found) | {"page": str(path)})
        return
    console = Console(highlight=False)
    most = min(MAX_NAME_LETTERS, int(MAX_NAME_SHARE * console.width))
    shown = _shown_studies(found, console.width, most)
    console.print(_table(found, shown, most))
    if shown < len(found.studies):
        hidden = first_names([study.data for study in found.studies[shown:]])
        lacking = (
            f"{len(found.studies) - shown} of {len(found.studies)} data sets are not shown, {hidden}: the ranks count"
        )
        console.print(Text(f"{lacking} all of them, and so does the page", style="dim"))
    console.print()
    console.print(comparison_report.verdict(found), markup=False)
    for note in found.notes:
        console.print(Text.assemble(("! ", "yellow"), note))
    console.print(f"page      {path}", markup=False, soft_wrap=True)


def _shown_studies(found: StudyComparison, width: int, most: int) -> int:
    """How many data sets fit on the screen beside names, ranks and p-values; names have at most `most` letters."""
    from fivefold.study.formatting import shorten_name

    names = max(len(shorten_name(name, most)) for name in found.learners)
    room, fitting = width - names - 2 - RANK_LETTERS - P_LETTERS * bool(found.against_best), 0
    for study in found.studies:
        room -= max(len(shorten_name(study.data, most)), len(study.score), SCORE_LETTERS) + 2
        fitting += room >= 0
    return fitting


def _table(found: StudyComparison, shown: int, most: int) -> Table:
    """Learners, best first, their mean ranks, p-values, and their scores on the first `shown` data sets."""
    from fivefold.study.formatting import decimals_for, format_number, format_p_value, shorten_name

    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("learner", no_wrap=True)
    grid.add_column("mean rank", justify="right", no_wrap=True)
    if found.against_best:
        grid.add_column("p\nNemenyi", justify="right", no_wrap=True)
    for study in found.studies[:shown]:
        grid.add_column(Text(f"{shorten_name(study.data, most)}\n{study.score}"), justify="right", no_wrap=True)
    for j, name in enumerate(found.learners):
        p_value = found.against_best.get(name)
        p_cell = [] if not found.against_best else ["best" if p_value is None else format_p_value(p_value)]
        scores = [format_number(row[j], decimals_for(float(abs(row).min()))) for row in found.scores[:shown]]
        grid.add_row(
            Text(shorten_name(name, most)),
            format_number(float(found.mean_ranks[j]), 2),
            *p_cell,
            *scores,
            style="bold green" if name in found.first else "",
        )
    return grid
