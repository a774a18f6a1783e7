"""What holds for the source as a whole: layers, annotations, lazy imports, names, sizes, dependencies."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import fivefold
from fivefold.core.registry import ENGINES, FACES, FLOOR, JUDGEMENT, chapters

PACKAGE = Path(fivefold.__file__).parent
# Lower layers first; a file imports from its own layer or from lower ones.
LAYERS = {
    **dict.fromkeys(FLOOR, 0),
    **dict.fromkeys(ENGINES, 1),
    **dict.fromkeys(chapters(), 2),
    **dict.fromkeys(JUDGEMENT, 3),
    **dict.fromkeys(FACES, 4),
}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if len(path.relative_to(PACKAGE).parts) > 1)
MODULES = {
    ".".join(("fivefold", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
MAX_FUNCTION_LINES = 80
MAX_MODULES_PER_FOLDER = 20
# Imports within the layers of engines and of chapters: package -> package, and why.
SIDEWAYS = {
    ("information", "spatial"): "entropy of rows from distances to neighbours",
    ("kernels", "spatial"): "many kernels are functions of a distance",
    ("linear_algebra", "spatial"): "timing.py measures distances between rows",
    ("optim", "kernels"): "the dual problem of kernel machines takes rows of a Gram matrix",
    ("optim", "spatial"): "the cost of k-means, as a textbook example",
    ("partition", "spatial"): "an order of the rows that their content decides",
    ("spatial", "kernels"): "edit distances are those of the string kernels",
    ("competitive", "cluster"): "units are centres of clusters",
    ("density", "mixture"): "a mixture is one of the densities that outliers are told by",
    ("density", "neighbors"): "a kernel density shows its rows as a tree of scikit-learn's kind",
    ("density", "naive_bayes"): "classes with densities decide by Bayes' rule",
    ("ensemble", "baselines"): "bagging and the cascade have members that predict a constant",
    ("ensemble", "linear_model"): "stacking combines members by a linear model; voting has some by default",
    ("ensemble", "naive_bayes"): "a default member of the voting ensemble",
    ("ensemble", "rules"): "formulas as terms of a sparse model",
    ("ensemble", "tree"): "forests and boosting are made of trees",
    ("graphical", "naive_bayes"): "a network that holds the class decides by Bayes' rule too",
    ("kernel_ridge", "smoothing"): "the smoothing spline is found where it was",
    ("manifold", "decomposition"): "the places of Isomap are kernel principal components of its geodesics",
    ("manifold", "neighbors"): "graphs of neighbours and their search",
    ("manifold", "smoothing"): "non-metric scaling pools adjacent violators",
    ("multiclass", "svm"): "the default binary classifier",
    ("neighbors", "cluster"): "the centres of a class are those of its clusters",
    ("neighbors", "tree"): "a tree says which columns and rows are compared",
    ("neighbors", "discriminant_analysis"): "nearest centres are discriminants of round classes",
    ("naive_bayes", "mixture"): "class densities may be mixtures",
    ("neighbors", "density"): "kernel densities are found where scikit-learn has them too",
    ("rank", "linear_model"): "a linear ranker is a linear model",
    ("rank", "svm"): "a ranker with kernels takes them as support vector machines do",
    ("rules", "tree"): "rules are read off trees, and share their guarantees",
    ("sequence", "graphical"): "a dynamic Bayesian network is unrolled to a Bayesian network",
    ("sequence", "mixture"): "rows of mixed columns start from the same clusters",
    ("smoothing", "linear_model"): "local learning fits linear models by default; folds are split as for penalties",
    ("svm", "linear_model"): "the linear SVM is a linear model",
    ("tree", "discriminant_analysis"): "splits and leaves by linear discriminants",
    ("tree", "linear_model"): "leaves with linear models",
}
# Module names that stand in several folders, because they mean the same there.
SHARED_NAMES = {
    "__init__": "what is where",
    "base": "the classes that the others of the folder derive from",
    "bounds": "the command prints what theory registers",
    "certify": "the command prints what theory finds",
    "curves": "plot draws what evaluation computes",
    "hyperplane": "plot draws what linear_model computes",
    "oblique_tree": "plot draws what tree grows",
    "soft_tree": "plot draws what tree grows",
    "study_comparison": "study/report prints what study/judging decides",
}
UNDECLARED = {  # packages that are imported only where a user's data come from them, or with words if absent
    "pandas": "rules as a frame, for those who have pandas",
    "torch": "doctor names the device; tensors come with torch",
    "triton": "comes with torch for CUDA, and compiles kernels there",
    "dask": "arrays in chunks come with dask",
    "distributed": "and so do the workers of a cluster",
    "llvmlite": "comes with numba, which compiles through it",
    "pyarrow": "Parquet files and Arrow data sets come with pyarrow, or words say so",
}


def names(path):
    return path.relative_to(PACKAGE).as_posix()


@cache
def syntax(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path):
    """Packages of fivefold that a file imports."""
    return {name.split(".")[1] for name in imported_modules(path) if name in MODULES and name != "fivefold"}


def imported_modules(path, top_level=False):
    """Full names of what a file imports, modules where they are modules; `top_level`: when it is imported itself."""

    def found(nodes):
        for node in nodes:
            if top_level and isinstance(node, ast.FunctionDef | ast.Lambda):
                continue
            if top_level and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from found(node.orelse)
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                yield from {name if name in MODULES else node.module for name in names}
            yield from found(ast.iter_child_nodes(node))

    return set(found(syntax(path).body))


def test_every_package_has_a_layer():
    packages = {path.relative_to(PACKAGE).parts[0] for path in FILES}
    assert packages <= set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=names)
def test_imports_only_go_down(path):
    own = LAYERS[path.relative_to(PACKAGE).parts[0]]
    assert [other for other in imports(path) if LAYERS[other] > own] == []


@pytest.mark.parametrize("path", [p for p in FILES if LAYERS[p.relative_to(PACKAGE).parts[0]] < 2], ids=names)
def test_functions_of_the_floor_and_the_engines_are_annotated(path):
    """Compiled loops, rules and kernels have no annotations: Numba and Triton find their types."""

    def compiled(node):
        text = " ".join(ast.unparse(d) for d in node.decorator_list)
        return "jit" in text or ".rule" in text or text in ("kernel", "kernel_part")

    bare = [
        node.name
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef) and node.returns is None and not compiled(node)
    ]
    assert bare == []


def test_methods_call_numba_through_the_floor_only():
    direct = [names(p) for p in FILES if "numba" in imported_libraries(p)]
    assert [name for name in direct if not name.startswith("core/compilation/_numba")] == []
    assert [names(p) for p in FILES if "_nrt" in p.read_text() and p.name != "_numba_068.py"] == []


def imported_libraries(path):
    return {name.split(".")[0] for name in imported_modules(path)}


def test_no_module_imports_itself_by_way_of_others():
    """Imports inside functions are made later, and may go back."""
    graph = {name: imported_modules(path, top_level=True) & set(MODULES) - {name} for name, path in MODULES.items()}
    list(TopologicalSorter(graph).static_order())  # raises CycleError, with the modules on the way


def test_engines_and_chapters_import_each_other_only_as_listed():
    found = {
        (own, other)
        for path in FILES
        for other in imports(path)
        if LAYERS[own := path.relative_to(PACKAGE).parts[0]] in (1, 2) and LAYERS[own] == LAYERS[other] and own != other
    }
    assert found - set(SIDEWAYS) == set(), "new"
    assert set(SIDEWAYS) - found == set(), "gone: take them off the list"


def test_functions_fit_on_a_screen():
    functions = ((path, node) for path in FILES for node in ast.walk(syntax(path)) if isinstance(node, ast.FunctionDef))
    long = [(names(path), f.name) for path, f in functions if f.end_lineno - f.lineno >= MAX_FUNCTION_LINES]
    assert long == []


def test_private_names_of_scikit_learn_are_imported_in_one_file():
    def private(name):
        _, *parts = name.split(".")
        return name.startswith("sklearn") and ("externals" in parts or any(part.startswith("_") for part in parts))

    found = set()
    for path in FILES:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.ImportFrom):
                imported = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {names(path) for name in imported if private(name)}
    assert found == {"core/_sklearn.py"}


def test_what_is_imported_is_declared():
    """Floor, engines and chapters use the base dependencies only; the rest also those of the extras."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def packages(lines):
        return {re.match(r"[\w-]+", line)[0].lower() for line in lines}

    base = packages(project["dependencies"])
    extras = packages(line for lines in project["optional-dependencies"].values() for line in lines)
    distributions = packages_distributions()
    lazily = {"skops"}  # core.storage writes and reads model files when it is asked to, and says what to install
    missing = set()
    for path in FILES:
        allowed = base | lazily if LAYERS[path.relative_to(PACKAGE).parts[0]] < 3 else base | extras
        for library in imported_libraries(path) - sys.stdlib_module_names - {"fivefold"} - set(UNDECLARED):
            if not {name.lower() for name in distributions.get(library, [library])} & allowed:
                missing.add((names(path), library))
    assert missing == set()


def test_what_the_benchmarks_import_is_installed_with_them():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["study"], *extras["bench"]]
    installed = {re.match(r"[\w-]+", line)[0].replace("scikit-learn", "sklearn") for line in lines}
    otherwise = {
        "sklearn_crfsuite": "sequence_labels.py asks it where it is installed",
        "daal4py": "part of scikit-learn-intelex",
        "libsvm": "part of libsvm-official",
        "GPy": "gaussian_process.py asks it where it is installed",
        "pgmpy": "structure_learning.py asks it where it is installed",
        "pyagrum": "structure_learning.py too, and approximate_inference.py",
        "torch": "gpu.py runs where torch sees a GPU",
        "dask": "scale_model.py measures a cluster",
        "distributed": "scale_model.py too",
        "dask_ml": "dask_cluster.py compares with it where it is installed",
        "pyarrow": "larger_than_memory.py writes Parquet files",
        "lightgbm": "threads.py compares with it where it is installed",
        "xgboost": "study_quality.py asks it where it is installed",
        "autogluon": "study_quality.py too; it needs older versions of what fivefold is tested with",
    }
    imported = {name for path in (root / "benchmarks").rglob("*.py") for name in imported_libraries(path)}
    assert imported - sys.stdlib_module_names - {"benchmarks", "fivefold"} - set(otherwise) <= installed


def test_a_module_name_stands_in_one_folder():
    folders = defaultdict(list)
    for path in FILES:
        folders[path.stem].append(path.parent.relative_to(PACKAGE).as_posix())
    several = {name: places for name, places in folders.items() if len(places) > 1}
    assert {name: places for name, places in several.items() if name not in SHARED_NAMES} == {}
    assert set(SHARED_NAMES) <= set(several), "take it off the list"


def test_every_module_is_imported_or_tested():
    known = {name for path in MODULES.values() for name in imported_modules(path)}
    tests = set(Path(__file__).parents[1].rglob("*.py"))
    known |= {name for path in tests for name in imported_modules(path)}
    alone = {name for name, path in MODULES.items() if name not in known and path.stem not in ("__init__", "__main__")}
    assert alone == set()


def test_a_folder_is_short_enough_to_read():
    folders = {path.parent for path in FILES}
    many = {names(folder): len([p for p in folder.glob("*.py") if p.stem != "__init__"]) for folder in folders}
    assert {folder: count for folder, count in many.items() if count > MAX_MODULES_PER_FOLDER} == {}


@pytest.mark.parametrize("path", [path for path in FILES if path.stem == "__init__"], ids=names)
def test_a_package_names_only_files_that_exist(path):
    text = ast.get_docstring(syntax(path)) or ""
    assert [word for word in re.findall(r"\w+\.(?:py|tsv)\b", text) if not (path.parent / word).is_file()] == []


def test_importing_a_chapter_does_not_import_numba_or_matplotlib():
    """The first `from fivefold.x import Y` costs scikit-learn's own import and little more."""
    code = "import sys\n" + "\n".join(f"import fivefold.{c}" for c in chapters())
    code += "\nprint([m for m in ('numba', 'matplotlib', 'torch', 'dask', 'polars', 'skops') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
