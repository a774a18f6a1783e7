"""Model files that were altered, with a hash that fits: each is refused in words or answers; none crashes or hangs.

An alteration changes one array (an element, its length, shape or type) or one number of the schema. Every file is read
and asked in a process that may die: those of `fivefold fit` by `fivefold predict`, and those of every method of the
registry, which `core.store` writes, by all that a method answers. FIVEFOLD_TEST_BOUNDS=1 compiles loops that look where
they read, in a folder of their own: a place outside an array is then found even where it crashes nothing.
"""

import io
import json
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tables import build, table

from fivefold.core.registry import methods
from fivefold.core.storage import model_files
from fivefold.mixture import GaussianMixture
from fivefold.preprocessing import PatchFeatures, PolynomialFeatures, SplineTransformer
from fivefold.study.models.model_file import CARD_ENTRY, _archive_digest, save_model
from fivefold.study.models.winner import fit_method
from fivefold.study.tables.dataset import BadInput, load

PATIENCE = 60.0  # seconds for one file: far more than any answer takes
QUICK = {
    "DecisionTreeClassifier": {},
    "RandomForestRegressor": {"n_estimators": 3},
    "HistGradientBoostingClassifier": {"max_iter": 3},
    "C45Classifier": {},
    "sklearn.tree.DecisionTreeClassifier": {},
}
WALKED = ("ensemble", "rules", "tree")  # chapters whose models are indices that loops walk through
SMALL = {"n_estimators": 3, "max_iter": 20}  # so that fitting all of them is quick
EXTREMES = (-(2**31), -2, -1, 0, 1, 2, 1000, 2**31 - 1)
CHILD = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from fivefold.cli.commands.predict import prediction_frame
from fivefold.study.tables.dataset import BadInput
from fivefold.study.models.model_file import load_model
from fivefold.study.models.new_rows import read_new_rows
for line in sys.stdin:
    path, data = line.split()
    try:
        model = load_model(Path(path))
        new = read_new_rows(data, model.schema)
        with model.refusing_misfits():
            prediction_frame(model, new)
        print("answered", flush=True)
    except BadInput as error:
        print("refused", flush=True)
"""

LIBRARY = """
import sys, warnings
warnings.simplefilter("ignore")
from tables import METHODS, outputs, table
from fivefold.core.storage.model_files import load
CASES = {method.name: (method, method.card.given) for method in METHODS}
for line in sys.stdin:
    path, name = line.split()
    try:
        outputs(load(path), table(CASES[name])[0])
        print("answered", flush=True)
    except Exception as error:
        outside = isinstance(error, IndexError) and str(error) == "index is out of bounds"  # Numba's words
        print("outside" if outside else "refused", flush=True)
        if outside:
            raise
"""


class Reader:
    """A process that reads model files and asks them; another takes its place when it dies or hangs."""

    def __init__(self, program=CHILD):
        self.program = program
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", self.program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        self.answers = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def listen(process, answers):
        for line in process.stdout:
            answers.put(line.strip())
        answers.put(None)

    def ask(self, path, data):
        """answered, refused, or how the process ended."""
        self.process.stdin.write(f"{path} {data}\n")
        self.process.stdin.flush()
        try:
            found = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            found = "hung"
        if found in ("answered", "refused"):
            return found
        self.process.kill()
        said = self.process.communicate()[1]
        self.start()
        return f"{found or 'crashed'}: {said[:2000]}"

    def stop(self):
        self.process.kill()
        self.process.communicate()


def environment():
    """What a process that reads starts from."""
    found = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if os.environ.get("FIVEFOLD_TEST_BOUNDS") == "1":
        folder = os.environ.get("FIVEFOLD_CACHE_DIR") or str(Path(tempfile.gettempdir()) / f"bounds-{os.getuid()}")
        found |= {"NUMBA_BOUNDSCHECK": "1", "FIVEFOLD_CACHE_DIR": folder}
    return found


@pytest.fixture(scope="module")
def reader():
    reader = Reader()
    yield reader
    reader.stop()


def fitted(name, given, folder):
    """A model file of a method and the table it is asked about; None where it takes neither table."""
    for data in ("iris", "diabetes"):
        try:
            return save_model(fit_method(load(data), name, given), folder / "model.skops"), data
        except BadInput:
            continue
    return None


def altered(source, target, rng):
    """The file with one thing in it changed, and a hash that fits; what was changed."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(members.pop(CARD_ENTRY, "null"))
    arrays = [
        name for name in members if name.endswith(".npy")
    ]  # in the order of the file: names are not the same twice
    name = rng.choice([*arrays, "schema.json"] if arrays else ["schema.json"])
    members[name] = _array(members[name], rng) if name != "schema.json" else _schema(members[name], rng)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    if about is not None:
        about["sha256"] = _archive_digest(target, about)
        with zipfile.ZipFile(target, "a") as archive:
            archive.writestr(CARD_ENTRY, json.dumps(about))
    return name


def _array(content, rng):
    array = np.load(io.BytesIO(content), allow_pickle=False)
    way = rng.choice(["element", "element", "element", "cut", "longer", "flat", "empty", "type"])
    if way == "element" and array.size and array.dtype.kind in "iufb":
        flat = array.copy().reshape(-1)
        value = np.nan if array.dtype.kind == "f" and rng.random() < 0.3 else rng.choice(EXTREMES)
        flat[rng.randrange(flat.size)] = np.array(value).astype(array.dtype)
        array = flat.reshape(array.shape)
    elif way == "cut" and array.ndim:
        array = np.take(array, range(array.shape[-1] - 1), axis=-1) if array.ndim > 1 else array[:-1]
    elif way == "longer" and array.ndim:
        array = np.concatenate([array, array], axis=0)
    elif way == "flat":
        array = array.reshape(-1)
    elif way == "empty":
        array = array[:0] if array.ndim else array
    elif way == "type" and array.dtype.kind in "iuf":
        array = array.astype(rng.choice([np.int8, np.int32, np.int64, np.float32, np.float64, np.uint8]))
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _schema(content, rng):
    text = content.decode()
    numbers = list(re.finditer(r'"content": "(-?\d+)"', text))
    if not numbers:
        return content
    place = rng.choice(numbers)
    return f"{text[: place.start(1)]}{rng.choice(EXTREMES)}{text[place.end(1) :]}".encode()


def became(reader, name, given, folder, count, seed):
    """How altered files of `fivefold fit` ended: counts, and those that crashed or hung."""
    made = fitted(name, given, folder)
    return None if made is None else ends(reader, *made, folder, count, seed)


def kept(method, folder):
    """A model file of a method, as `core.store` writes it, and the name of its table."""
    case = (method, method.card.given)
    model = build(case, **SMALL).fit(*table(case))
    model_files.save(model, path := folder / "kept.skops")
    return path, method.name


def ends(reader, source, data, folder, count, seed):
    assert reader.ask(source, data) == "answered"
    rng, counts, bad = random.Random(seed), {"answered": 0, "refused": 0}, []
    for i in range(count):
        path = folder / f"{i}.skops"
        member = altered(source, path, rng)
        how = reader.ask(path, data)
        if how in counts:
            counts[how] += 1
            path.unlink()
        else:
            bad.append((i, member, how))
    return counts, bad


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", QUICK)
def test_an_altered_file_is_refused_or_answers(reader, tmp_path, name):
    counts, bad = became(reader, name, QUICK[name], tmp_path, 12, seed=0)
    assert bad == []
    assert counts["refused"] > 0


@pytest.mark.filterwarnings("ignore")
def test_altered_files_of_a_sample_of_methods_are_refused_or_answer(tmp_path):
    """One method a chapter, two files each."""
    chapters = {m.chapter: m for m in methods() if m.name not in QUICK}
    reader = Reader(LIBRARY)
    try:
        found = {m.name: ends(reader, *kept(m, tmp_path), tmp_path, 2, seed=2) for m in chapters.values()}
    finally:
        reader.stop()
    assert [(name, bad) for name, (_, bad) in found.items() if bad] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_altered_files_of_every_method_are_refused_or_answer(tmp_path, method):
    reader = Reader(LIBRARY)
    try:
        counts, bad = ends(reader, *kept(method, tmp_path), tmp_path, 15, seed=3)
    finally:
        reader.stop()
    print(method.name, counts)
    assert bad == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", [m for m in methods() if m.chapter in WALKED], ids=lambda method: method.name)
def test_altered_files_of_every_method_with_indices_are_refused_or_answer(tmp_path, method):
    given = {key: value for key, value in SMALL.items() if key in {p.name for p in method.parameters}}
    reader = Reader()  # one for each: what a file breaks shows with its own method
    try:
        found = became(reader, method.name, given, tmp_path, 15, seed=1)
    finally:
        reader.stop()
    if found is not None:
        print(method.name, found[0])
        assert found[1] == []


def narrower(model, name):
    """The mixture with one column less in an array of its components."""
    components = model.model_.components
    if name == "mean":
        components = replace(components, mean=components.mean[:, :-1])
    else:
        covariance = components.covariance
        components = replace(components, covariance=replace(covariance, **{name: getattr(covariance, name)[..., :-1]}))
    model.model_ = replace(model.model_, components=components)
    return model


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("name", ["mean", "matrix", "factor"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_means_and_covariances_of_a_file_that_do_not_fit_together_are_refused(tmp_path, covariance, name):
    """The loops of the densities read beyond the shorter of them."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = GaussianMixture(2, covariance_type=covariance, random_state=0).fit(X)
    if not hasattr(model.model_.components.covariance, name) and name != "mean":
        return
    model_files.save(narrower(model, name), path := tmp_path / "mixture.skops")
    loaded = model_files.load(path)
    for ask in (loaded.predict, loaded.score_samples):
        with pytest.raises(ValueError, match="do not fit 2 components of 3 columns"):
            ask(X)


@pytest.mark.parametrize("field", ["n_splines", "degree", "n_out"])
@pytest.mark.parametrize("number", [-1, 0, 1, 1000, 2**31 - 1])
def test_splines_of_a_file_whose_numbers_do_not_fit_the_knots_are_refused(tmp_path, field, number):
    """They were written beyond the end of the table, before."""
    model = SplineTransformer().fit(np.linspace(0, 1, 40).reshape(20, 2))
    model.model_ = replace(model.model_, **{field: number})
    model_files.save(model, path := tmp_path / "splines.skops")
    with pytest.raises(ValueError, match="do not"):
        model_files.load(path)


@pytest.mark.parametrize("given", [{}, {"degree": 3, "interaction_only": True}, {"include_bias": False}])
@pytest.mark.parametrize("number", [-1, 0, 1, 1000, 2**31 - 1])
def test_products_of_a_file_whose_numbers_do_not_fit_are_refused(tmp_path, given, number):
    """They were written beyond the end of the table; a billion degrees were counted."""
    X = np.arange(12.0).reshape(4, 3)
    whole = PolynomialFeatures(**given).fit(X)
    model_files.save(whole, path := tmp_path / "products.skops")
    np.testing.assert_array_equal(model_files.load(path).transform(X), whole.transform(X))
    terms = whole.model_.terms
    for changed in (
        replace(whole.model_, size=number),
        replace(whole.model_, terms=replace(terms, d=number)),
        replace(whole.model_, terms=replace(terms, most=number)),
    ):
        if given.get("interaction_only") and changed.terms.most > 3:
            continue  # the same products
        whole.model_ = changed
        model_files.save(whole, path)
        with pytest.raises(ValueError, match="are not|where there are"):
            model_files.load(path)


def test_cells_of_a_file_beyond_all_places_are_not_gone_through_one_by_one(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 16))
    model = PatchFeatures(4, patch_size=2, cells=2, random_state=0).fit(X)
    wanted = PatchFeatures(4, patch_size=2, cells=3, random_state=0).fit(X).transform(X)
    model.model_ = replace(model.model_, cells=2**20)
    model_files.save(model, path := tmp_path / "patches.skops")
    np.testing.assert_array_equal(model_files.load(path).transform(X), wanted)  # every place is a cell of its own
