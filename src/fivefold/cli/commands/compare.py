"""`fivefold compare`: learners over the studies of several data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from fivefold.cli.options import JSON_OPTION, Console, refuse, show_json

if TYPE_CHECKING:
    from fivefold.study.judging.study_comparison import StudyComparison


def compare(
    studies: Annotated[list[Path], typer.Argument(help="Folders of finished studies, or their results.json files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Page to write.")] = Path("compare.html"),
    as_json: JSON_OPTION = False,
) -> None:
    """Which learner is best over several data sets? Mean ranks, Friedman's test, critical differences."""
    from fivefold.study.judging import study_comparison as comparison
    from fivefold.study.report import study_comparison as comparison_report
    from fivefold.study.tables.dataset import BadInput

    try:
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
    console.print(_table(found, console.width))
    console.print()
    console.print(comparison_report.verdict(found), markup=False)
    for note in found.notes:
        console.print(Text.assemble(("! ", "yellow"), note))
    console.print(f"page      {path}", markup=False, soft_wrap=True)


def _table(found: StudyComparison, width: int) -> Table:
    """Learners, best first, their mean ranks, and their scores on as many data sets as fit."""
    from fivefold.study.formatting import decimals_for, format_number

    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("learner")
    grid.add_column("mean rank", justify="right")
    room, fitting = width - max(map(len, found.learners)) - 13, 0
    for study in found.studies:
        room -= max(len(study.data), len(study.score), 6) + 2
        fitting += room >= 0
    for study in found.studies[:fitting]:
        grid.add_column(f"{study.data}\n{study.score}", justify="right", no_wrap=True)
    for j, name in enumerate(found.learners):
        shown = [format_number(row[j], decimals_for(float(abs(row).min()))) for row in found.scores[:fitting]]
        grid.add_row(
            Text(name), format_number(float(found.mean_ranks[j]), 2), *shown, style="bold green" if j == 0 else ""
        )
    return grid
