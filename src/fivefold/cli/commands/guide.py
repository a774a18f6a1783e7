"""`fivefold guide`: the machine-learning cycle, phase by phase, with a question where there is a choice.

It begins or continues the workflow in a folder. After training it shows the validation and asks whether to revise a
phase or to open the test rows. With --yes it asks nothing and takes the defaults and the given options.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fivefold.cli.options import DATA_HELP, TARGET_OPTION, Console, refuse
from fivefold.cli.progress_bar import activity

if TYPE_CHECKING:
    from fivefold.study.guide.problem import LearningProblem
    from fivefold.study.guide.workflow import Phase, Workflow


def guide(
    folder: Annotated[Path, typer.Argument(help="Folder of the workflow; an existing workflow is continued.")],
    data: Annotated[str | None, typer.Option(help=DATA_HELP)] = None,
    target: TARGET_OPTION = None,
    task: Annotated[str | None, typer.Option(help="In words: what is to be learned.")] = None,
    metric: Annotated[str | None, typer.Option(help="The measure of performance, such as accuracy or rmse.")] = None,
    add: Annotated[
        list[str] | None, typer.Option(help="NAME=EXPRESSION adds a column; repeat the option for several.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; repeat the option for several.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas; by default a portfolio.")] = None,
    revise: Annotated[str | None, typer.Option(help="Go back to data, features, models or training.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same test rows and results.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing and take the defaults.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop before the test rows are opened.")] = False,
) -> None:
    """Go through task, data, features, models, training and evaluation, and back to phases that proved weak."""
    from fivefold.study.guide.workflow import WORKFLOW_FILE, Workflow
    from fivefold.study.tables.dataset import BadInput

    console = Console(highlight=False, markup=False, soft_wrap=True)
    talk = _Prompter(console, yes)
    try:
        if (folder / WORKFLOW_FILE).exists():
            work = Workflow(folder)
        else:
            work = Workflow.begin(folder, _ask_problem(talk, data, target, task, metric), seed=seed)
        if revise is not None:
            work.revise(_phase(revise), talk.ask("Why revise it?", ""))
        console.print(str(work))
        while _do_next_phase(work, talk, add or [], drop or [], methods, jobs, stop=stop):
            pass
        with activity("drawing the report"):
            path = work.report()
        console.print(f"\nreport    {path}")
    except BadInput as error:
        refuse(str(error))


class _Prompter:
    """Asks questions with a default answer; with `yes`, takes the defaults."""

    def __init__(self, console: Console, yes: bool) -> None:
        self.console, self.yes = console, yes

    def ask(self, question: str, default: str) -> str:
        return default if self.yes else str(typer.prompt(question, default=default, show_default=bool(default))).strip()

    def sure(self, question: str, default: bool) -> bool:
        return default if self.yes else typer.confirm(question, default=default)


def _ask_problem(
    talk: _Prompter, data: str | None, target: str | None, task: str | None, metric: str | None
) -> LearningProblem:
    from fivefold.study.guide.problem import Experience, LearningProblem
    from fivefold.study.planning.plan import make_plan
    from fivefold.study.tables.dataset import load

    talk.console.print("1 The task: what is learned (T), by which measure (P), from what (E)")
    source = data or talk.ask("E: which table?", "wine")
    column = target or (talk.ask("E: which column to predict?", "") or None)
    with activity(f"reading {source}"):
        table = load(source, column)
    usual = make_plan(table, (), holdout=0.0).scores[0].name
    words = task or talk.ask("T: in words", f"predict {table.target} of {table.name}")
    measure = metric or talk.ask("P: which measure?", usual)
    return LearningProblem(words, measure, Experience(source, column))


def _do_next_phase(
    work: Workflow, talk: _Prompter, add: list[str], drop: list[str], methods: str | None, jobs: int, *, stop: bool
) -> bool:
    """Do the next phase; returns False at the end."""
    if work.next == "evaluation" and not _revise_or_test(work, talk, stop):
        return False
    phase = work.next  # a different one if a phase was revised
    if phase is None:
        return False
    talk.console.print(f"\n{PHASE_HEADINGS[phase]}")
    if phase == "data":
        with activity("reading the data"):
            found = work.read_data()
        talk.console.print(
            f"{found['rows']} rows, {len(found['columns'])} columns; {found['test_rows']} rows locked away"
        )
        for note in found["notes"]:
            talk.console.print(f"  {note}")
    elif phase == "features":
        out = drop or _split_list(talk.ask("Columns to leave out, separated by commas", ""))
        new = add or [part for part in talk.ask("Columns to add, NAME=EXPRESSION; ...", "").split(";") if part.strip()]
        with activity("comparing the features"):
            chosen = work.choose_features(add=_parse_columns(new), drop=out)
        talk.console.print(str(chosen))
    elif phase == "models":
        names = _split_list(
            methods if methods is not None else talk.ask("Methods, separated by commas; none for a portfolio", "")
        )
        read = talk.sure("Will people read the reasons for a prediction?", False)
        with activity("choosing models"):
            found = work.choose_models(names, interpretable=read)
        talk.console.print("learners: " + ", ".join(found["learners"]))
        talk.console.print("\n".join(found["advice"]))
    elif phase == "training":
        with activity("training"):
            trained = work.train(jobs=jobs)
        talk.console.print(str(trained))
        for weak in work.outcomes["training"]["weaknesses"]:
            talk.console.print(f"weak: {weak['why']} (revise {weak['phase']})")
    else:
        with activity("testing"):
            found = work.evaluate()
        scores = ", ".join(f"{name} {value:.4g}" for name, value in found["scores"].items())
        talk.console.print(f"{found['learner']} on {found['rows']} test rows: {scores}")
    return True


def _revise_or_test(work: Workflow, talk: _Prompter, stop: bool) -> bool:
    """Between validation and test: go back to a phase, or on; returns False to stop here."""
    if stop:
        return False
    answer = talk.ask("\nRevise data, features, models or training, stop, or test?", "test")
    if answer in ("data", "features", "models", "training"):
        work.revise(_phase(answer), talk.ask("Why?", ""))
        return True
    return answer == "test"


def _phase(name: str) -> Phase:
    """The name of a phase as it was typed; `revise` refuses any other word."""
    return cast("Phase", name.strip().lower())


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_columns(texts: list[str]) -> dict[str, str]:
    from fivefold.study.tables.dataset import BadInput

    split = [text.partition("=") for text in texts]
    if bad := ["".join(parts) for parts in split if not parts[0].strip() or not parts[2].strip()]:
        raise BadInput(f"--add is NAME=EXPRESSION, such as --add area=width*height; got {bad[0]!r}")
    return {name.strip(): how.strip() for name, _, how in split}


PHASE_HEADINGS = {
    "data": "2 The data: read, and test rows locked away",
    "features": "3 The features: add, drop, count",
    "models": "4 The models: what to compare",
    "training": "5 Training and validation: every learner tuned and tested on the same splits",
    "evaluation": "6 Evaluation: the test rows are opened, once",
}
