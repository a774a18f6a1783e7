"""Model files of fivefold 0.1.0, before its modules were moved, still load and answer as they did.

The archive beside this file holds, for every method there was, a model fitted on the 60 rows that tests/tables.py makes
for its laws, and what it said about the first seven of them; and the model file of a study of the iris table.
"""

import io
import pickle
import re
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from tables import METHODS, outputs, table

from fivefold import _moved_modules
from fivefold.core.storage import model_files
from fivefold.study.models.model_file import load_model
from fivefold.tree import C45Classifier

ARCHIVE = ZipFile(Path(__file__).with_name("models_0_1_0.zip"))
STUDY = "study of iris"
ROOT = Path(__file__).parents[2]
NAMES = sorted({Path(name).stem for name in ARCHIVE.namelist()} - {STUDY})


def unpacked(name, folder):
    path = folder / f"{name}.skops"
    path.write_bytes(ARCHIVE.read(path.name))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_model_file_of_an_earlier_version_answers_as_it_did(name, tmp_path):
    model = model_files.load(unpacked(name, tmp_path))
    method = next(method for method in METHODS if method.name == name)
    X = table((method, method.card.given))[0][:7]
    known = np.load(io.BytesIO(ARCHIVE.read(f"{name}.npz")))
    said = outputs(model, X)
    assert set(said) == set(known.files)
    for key in known.files:
        if known[key].dtype.kind == "f":
            np.testing.assert_allclose(said[key], known[key], rtol=1e-10, atol=1e-12)
        else:
            np.testing.assert_array_equal(said[key], known[key])


def test_the_model_of_a_study_of_an_earlier_version_is_read_and_right_about_most_rows(tmp_path):
    model = load_model(unpacked(STUDY, tmp_path))
    iris = load_iris(as_frame=True)
    said = model.pipeline.predict(pl.from_pandas(iris.data))
    assert np.mean(said == iris.target_names[iris.target]) > 0.9


def test_categories_of_a_frame_are_read_from_where_they_were(tmp_path):
    X = pl.DataFrame({"colour": ["red", "green", "blue", "red"] * 5, "size": [1.0, 2.0, 3.0, 4.0] * 5})
    tree = C45Classifier().fit(X, ["yes", "no", "no", "yes"] * 5)
    new, old = tmp_path / "new.skops", tmp_path / "old.skops"
    model_files.save(tree, new)
    with ZipFile(new) as now, ZipFile(old, "w") as before:
        for name in now.namelist():
            before.writestr(name, now.read(name).replace(b"fivefold.core.admission.categories", b"fivefold.core.data"))
        assert b"fivefold.core.data" in before.read(model_files.SCHEMA_ENTRY)
    np.testing.assert_array_equal(model_files.load(old).predict(X), tree.predict(X))


def test_a_pickle_of_an_earlier_version_is_refused_in_words():
    pickled = b"cfivefold.cluster.prototypes\nModel\n."
    with pytest.raises(ModuleNotFoundError, match=r"is now fivefold\.cluster\.centres\.prototypes\. A pickle"):
        pickle.loads(pickled)


def test_a_module_that_was_divided_names_its_parts():
    parts = r"fivefold\.optim\.risk_minimisation\.linear_svm_solvers$"
    with pytest.raises(ModuleNotFoundError, match=rf"^fivefold\.svm\.linear_routes of fivefold 0\.1\.0 is now {parts}"):
        import_module("fivefold.svm.linear_routes")
    with pytest.raises(ModuleNotFoundError, match=r"is now fivefold\.core\.numerics\.products and .*svd and "):
        import_module("fivefold.core.linalg")


def test_old_modules_are_those_of_the_glossary_and_lead_to_modules_of_today():
    known = {old: new.split(" ") for old, new in _moved_modules._pairs(_moved_modules.OLD_MODULES_FILE).items()}
    assert [name for places in known.values() for name in places if find_module(f"fivefold.{name}") is None] == []
    table = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = table.split("## Modules that moved")[1].split("\n## ")[0]
    listed = {}
    for folder, items in re.findall(r"^\| `([\w/]+)` \| (.*) \|$", table, re.MULTILINE):
        for old, new in (item.split(" → ") for item in items.split(", ")):
            paths = [part.removeprefix("/") if part[0] == "/" else f"{folder}/{part}" for part in new.split(" + ")]
            listed[f"{folder}/{old}".replace("/", ".")] = [path.replace("/", ".") for path in paths]
    assert {old: new for old, new in listed.items() if old not in new} == known


def test_a_module_that_never_was_is_not_found_as_usual():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'fivefold\.cluster\.nothing'$"):
        import_module("fivefold.cluster.nothing")


def test_old_names_lead_to_classes_of_today_and_are_names_of_none():
    """A name that had passed to another class would give a new file the wrong one."""
    for old, new in model_files._old_names().items():
        module, _, name = new.rpartition(".")
        assert isinstance(getattr(import_module(module), name), type)
        module, _, name = old.rpartition(".")
        found = getattr(find_module(module), name, None)
        assert getattr(found, "__module__", None) != module


def find_module(name):
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return None
