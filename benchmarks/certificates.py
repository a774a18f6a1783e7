"""Certificates: how often every bound is wrong, and how loose it is on five data sets; writes docs/certificates.md.

    python -m benchmarks.certificates [--trials N] [--only coverage | looseness]

The first table repeats the simulations of tests/bound_simulations. For the second, models are fitted to four fifths of
the rows; bounds for training rows are those of their own training, bounds for held-out rows those of the last fifth.
Columns are scaled by constants that are known without the rows. 2,000 trials take three minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from fivefold.datasets import blood_tests
from fivefold.ensemble import AdaBoostClassifier, RandomForestClassifier
from fivefold.linear_model import LogisticRegression
from fivefold.neighbors import CondensedNeighborsClassifier, KNeighborsClassifier
from fivefold.svm import SVC
from fivefold.theory import CertificateError, PACBayesProbit, certify, registered_bounds
from fivefold.theory.concentration.coverage import Coverage, measure_coverage
from fivefold.tree import DecisionTreeClassifier

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "certificates.md"
BEGIN, END = "<!-- {} begins -->", "<!-- {} ends -->"
FOLDS = 5


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Five tables whose columns are divided by constants known beforehand, in a random order."""
    iris, wine, cancer = (load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer))
    digits, y = load_digits(return_X_y=True)
    blood, ill = blood_tests(proteins=16)
    chosen = np.random.RandomState(1).randint(len(ill), size=3000)
    tables = {
        "iris": (iris[0] / 10, iris[1]),  # centimetres, decimetres
        "wine": (np.log1p(wine[0]) / 10, wine[1]),
        "breast cancer": (np.log1p(cancer[0]) / 10, cancer[1]),
        "digits, odd": (digits / 16, y % 2),
        "blood tests": (np.asarray(blood)[chosen], np.asarray(ill)[chosen]),
    }
    for name, (X, labels) in tables.items():
        order = np.random.default_rng(0).permutation(len(labels))
        yield name, np.ascontiguousarray(X[order], dtype=float), labels[order]


def models() -> dict[str, Any]:
    """A model of each kind that some bound speaks of."""
    return {
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "linear": LogisticRegression(C=100.0),
        "forest": RandomForestClassifier(n_estimators=100, min_samples_leaf=2, random_state=0),
        "boosting": AdaBoostClassifier(n_estimators=10, random_state=0),
        "support vectors": SVC(kernel="rbf", gamma=1.0, C=10.0),
        "neighbours": KNeighborsClassifier(5),
        "PAC-Bayes probit": PACBayesProbit(random_state=0),
        "prototypes": CondensedNeighborsClassifier(random_state=0),
    }


def looseness() -> tuple[list[str], list[list[str]], dict[str, str]]:
    """Data sets, a row per bound with its smallest value and the model of it, and the models' errors on new rows."""
    best: dict[str, dict[str, tuple[float, str, str]]] = {}
    names, errors = [], {}
    for name, X, y in data_sets():
        names.append(name)
        cut = len(y) * 4 // 5
        seen = []
        for kind, model in models().items():
            model.fit(X[:cut], y[:cut])
            tested = {"training": (X[:cut], y[:cut]), "held out": (X[cut:], y[cut:])}
            seen.append(f"{kind} {np.mean(model.predict(X[cut:]) != y[cut:]):.3f}")
            for rows, (own, labels) in tested.items():
                try:
                    found = certify(model, own, labels, rows=rows, **_fold_errors(model, X[:cut], y[:cut], rows))
                except CertificateError:
                    continue
                for bound, value in found.parts.items():
                    known = best.setdefault(bound, {}).get(name)
                    if known is None or value < known[0]:
                        best[bound][name] = value, kind, found.predictors.get(bound, "")
        errors[name] = ", ".join(seen)
    table = []
    for bound in registered_bounds():
        cells = [bound.card.name, bound.card.rows]
        for name in names:
            value, kind, other = best.get(bound.card.name, {}).get(name, (None, "", ""))
            cells.append("–" if value is None else f"{value:.3f} {kind}{' *' if other else ''}" if value < 1 else "1")
        table.append(cells)
    return names, table, errors


def _fold_errors(model: Any, X: np.ndarray, y: np.ndarray, rows: str) -> dict[str, Any]:
    """The errors of cross-validation, for the bound that takes them."""
    if rows != "training":
        return {}
    from sklearn.base import clone

    fold = np.arange(len(y)) % FOLDS
    return {
        "folds": [
            (
                int(np.sum(clone(model).fit(X[fold != k], y[fold != k]).predict(X[fold == k]) != y[fold == k])),
                int(np.sum(fold == k)),
            )
            for k in range(FOLDS)
        ]
    }


def simulated(trials: int) -> Iterator[tuple[str, Coverage]]:
    """The coverage of every simulation of the tests."""
    for path in sorted((ROOT / "tests" / "bound_simulations").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"bound_simulations_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        delta = getattr(module, "DELTA", 0.05)
        for name, draw in module.SIMULATIONS.items():
            trial: Callable[..., Any] = draw if len(signature(draw).parameters) == 1 else _at(draw, delta)
            yield name, measure_coverage(trial, delta, trials=trials, seed=crc32(name.encode()))


def _at(draw: Callable[..., Any], delta: float) -> Callable[[np.random.Generator], Any]:
    return lambda rng: draw(rng, delta)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def replace_part(name: str, text: str) -> None:
    """Put a table between its two marks on the page."""
    begin, end = BEGIN.format(name), END.format(name)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def write_looseness() -> None:
    """The second table."""
    names, table, errors = looseness()
    said = "\n".join(f"- {name}: {text}" for name, text in errors.items())
    replace_part("looseness", markdown(["bound", "rows", *names], table) + f"\n\nErrors on the last fifth:\n\n{said}")


def write_coverage(trials: int) -> None:
    """The first table."""
    rows = [
        [name, f"{c.delta:g}", f"{c.share:.2%}", f"{c.limit:.2%}", f"{c.mean_bound:.3f}", f"{c.mean_error:.3f}"]
        for name, c in sorted(simulated(trials), key=lambda found: found[0])
    ]
    header = ["bound", "delta", "wrong in", "allowed", "mean bound", "mean true error"]
    replace_part("coverage", f"{trials:,} samples per row.\n\n{markdown(header, rows)}")


def main() -> None:
    """Write both tables, or one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--only", choices=("coverage", "looseness"))
    asked = parser.parse_args()
    if asked.only != "coverage":
        write_looseness()
    if asked.only != "looseness":
        write_coverage(asked.trials)


if __name__ == "__main__":
    main()
