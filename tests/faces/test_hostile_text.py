"""Names and labels that are written to steer a terminal, a page or a spreadsheet: shown, and not obeyed."""

import json
from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.cli.commands.predict import escape_formulas
from fivefold.cli.options import Console
from fivefold.core.console.control_characters import printable
from fivefold.study.report.blocks import Code
from fivefold.study.report.page import _block_markdown, save_text

EVIL = "evil\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_console_shows_control_characters_and_obeys_none():
    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="truecolor", width=200)
    grid = Table(EVIL)
    grid.add_row(Text(EVIL, style="bold"))
    for thing in (EVIL, Text(EVIL), grid):
        console.print(thing, markup=False)
    shown = out.getvalue()
    assert "␛]0;owned" in shown and "\x1b]0" not in shown and "\x1b[2J" not in shown
    assert not any(mark in shown for mark in OBEYED[1:])
    assert "\x1b[1m" in shown  # the console's own


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model of a table with hostile names and labels, the table, and what fit showed."""
    folder = tmp_path_factory.mktemp("hostile")
    rng, path = np.random.default_rng(0), folder / "table.csv"
    label = np.where(rng.normal(size=60) > 0, "=1+1", "@sum").tolist()
    pl.DataFrame({EVIL: rng.normal(size=60), "b": rng.normal(size=60), "y": label}).write_csv(path)
    return folder / "model.skops", path, run("fit", "GaussianNB", path, "--target", "y", "-o", folder / "model.skops")


def test_no_command_lets_a_name_reach_the_terminal(fitted, tmp_path):
    model, path, shown = fitted
    assert shown.exit_code == 0, shown.output
    other = tmp_path / "other.csv"
    other.write_text("b,y\n1,2\n")
    words = [
        ("card", model),
        ("card", model, "--json"),
        ("predict", model, other),
        ("study", path, "--target", "nothing"),
    ]
    for shown in (fitted[2], *(run(*command) for command in words)):
        assert not any(mark in shown.stdout + shown.stderr for mark in OBEYED), shown.output
    assert EVIL in [column["name"] for column in json.loads(run("card", model, "--json").stdout)["schema"]["columns"]]


def test_labels_that_a_spreadsheet_would_run_get_an_apostrophe_unless_raw(fitted, tmp_path):
    model, path, _ = fitted
    out = tmp_path / "predictions.csv"
    shown = run("predict", model, path, "-o", out)
    assert shown.exit_code == 0, shown.output
    assert set(pl.read_csv(out)["prediction"]) == {"'=1+1", "'@sum"}
    assert "would take for a formula" in " ".join(shown.stderr.split()) and "--raw" in shown.stderr
    assert run("predict", model, path, "-o", out, "--raw").exit_code == 0
    assert set(pl.read_csv(out)["prediction"]) == {"=1+1", "@sum"}
    told = json.loads(run("predict", model, path, "--json").stdout)
    assert {row["prediction"] for row in told["predictions"]} == {"=1+1", "@sum"}  # JSON runs nothing


def test_the_rule_for_formulas_can_be_undone_and_leaves_numbers_alone():
    texts = ["=a", "+b", "-c", "@d", "\te", "\rf", "'=g", "''@h", "'i", "j", "-1", "+2.5e3", "-.5", "--1", "", None]
    marked, changed = escape_formulas(pl.DataFrame({"t": texts, "n": np.arange(-8.0, 8.0), "=head": texts}))
    assert changed == 2 * 9 + 1
    assert marked["n"].to_list() == list(np.arange(-8.0, 8.0))
    assert marked.columns == ["t", "n", "'=head"]
    assert marked["t"].to_list()[8:13] == ["'i", "j", "-1", "+2.5e3", "-.5"]

    def undone(text):
        bare = text.lstrip("'") if text else ""
        return text[1:] if text and text.startswith("'") and bare[:1] in tuple("=+-@\t\r") else text

    assert [undone(text) for text in marked["t"]] == texts


def test_the_command_of_a_report_cannot_leave_its_block(tmp_path):
    written = _block_markdown(Code("fivefold study '```\n# owned\n````.csv'\x1b[2J"))
    fence = written.splitlines()[0]
    assert set(fence) == {"`"} and len(fence) == 5 and written.splitlines()[-1] == fence
    assert fence not in written.removeprefix(fence).removesuffix(fence)
    text = save_text(written, tmp_path / "report.md").read_text(encoding="utf-8")
    assert "\x1b" not in text and printable(written) == text
