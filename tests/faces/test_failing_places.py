"""Full disks, folders that vanish, files nested without end: plain words and exit code 2, for every command."""

import errno
import json
import os
import tempfile

import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.cli.options import with_refusals
from fivefold.study.models import model_file as model_files
from fivefold.study.models.winner import fit_method
from fivefold.study.tables.dataset import load


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    return model_files.save_model(
        fit_method(load("iris"), "GaussianNB", {}), tmp_path_factory.mktemp("m") / "model.skops"
    )


def refused(shown, *words):
    assert shown.exit_code == 2, shown.output
    assert shown.exception is None or isinstance(shown.exception, SystemExit)
    said = " ".join(shown.stderr.split())
    assert all(word in said for word in words), said
    return said


def test_a_full_disk_and_a_folder_that_vanished_are_said_in_words(iris, tmp_path, monkeypatch):
    refused(run("predict", iris, "iris", "-o", tmp_path / "gone" / "p.csv"), "no file can be written there")
    refused(run("fit", "GaussianNB", "iris", "-o", tmp_path / "gone" / "m.skops"), "no file can be written there")
    refused(run("report", tmp_path / "gone"), "there is no study here")

    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    refused(run("fit", "GaussianNB", "iris", "-o", tmp_path / "m.skops"), "No space left on device")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x/report.html"), "/x/report.html: No space left on device"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"), "/x: No such file"),
        (MemoryError(), "memory ran out"),
        (RecursionError(), "nested too deeply"),
        (type("PanicException", (BaseException,), {})("index out of bounds"), "index out of bounds"),
    ],
)
def test_whatever_stops_a_command_is_refused_in_words(error, words, capsys):
    import typer

    def command():
        raise error

    with pytest.raises(typer.Exit) as stopped:
        with_refusals(command)()
    assert stopped.value.exit_code == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_results_file_nested_without_end_is_refused(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("[" * 100_000)
    refused(run("compare", tmp_path / "a", tmp_path / "b"), "is not the results file of a study, or is damaged")
    (tmp_path / "a").write_text(json.dumps({"plan": [], "learners": "x", "data": 3}))
    refused(run("compare", tmp_path / "a", tmp_path / "b"), "is not the results file")


def test_a_card_that_is_not_as_it_should_be_is_refused(iris, tmp_path):
    import zipfile

    for change in ({"card": []}, {"schema": 3}, {"card": {"versions": [1], "scores": 7}}):
        path = tmp_path / "model.skops"
        with zipfile.ZipFile(iris) as old:
            members = {name: old.read(name) for name in old.namelist()}
        about = {**json.loads(members.pop(model_files.CARD_ENTRY)), **change}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        about["sha256"] = model_files._archive_digest(path, about)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(model_files.CARD_ENTRY, json.dumps(about))
        refused(run("card", path))
        shown = run("predict", path, "iris")
        assert shown.exit_code in (0, 2) and "Traceback" not in shown.output
