"""What holds for the source as a whole: layers, annotations, lazy imports, cards, coverage."""

import ast
import subprocess
import sys
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


def names(path):
    return path.relative_to(PACKAGE).as_posix()


def imports(path):
    """Packages of fivefold that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fivefold."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("fivefold."):
                    yield alias.name.split(".")[1]


def test_every_package_has_a_layer():
    packages = {path.relative_to(PACKAGE).parts[0] for path in FILES}
    assert packages <= set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=names)
def test_imports_only_go_down(path):
    own = LAYERS[path.relative_to(PACKAGE).parts[0]]
    assert [other for other in imports(path) if LAYERS[other] > own] == []


@pytest.mark.parametrize("path", [p for p in FILES if LAYERS[p.relative_to(PACKAGE).parts[0]] < 2], ids=names)
def test_functions_of_the_floor_and_the_engines_are_annotated(path):
    """Compiled loops and rules have no annotations: Numba finds their types."""

    def compiled(node):
        text = " ".join(ast.unparse(d) for d in node.decorator_list)
        return "jit" in text or ".rule" in text

    bare = [
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.returns is None and not compiled(node)
    ]
    assert bare == []


def test_methods_call_numba_through_the_floor_only():
    direct = [names(p) for p in FILES if "numba" in imported_libraries(p) and p.name != "_numba.py"]
    assert [name for name in direct if not name.startswith("cli/")] == []


def imported_libraries(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)


def test_importing_a_chapter_does_not_import_numba_or_matplotlib():
    """The first `from fivefold.x import Y` costs scikit-learn's own import and little more."""
    code = "import sys\n" + "\n".join(f"import fivefold.{c}" for c in chapters())
    code += "\nprint([m for m in ('numba', 'matplotlib', 'torch', 'dask', 'polars', 'skops') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
