"""Model files of LIBSVM: machines trained by its tools read here, and ours written for svm-predict.

    svm_type c_svc                  kernel_type rbf        gamma 0.5
    nr_class 2                      total_sv 3             rho 0.25        label 1 -1        nr_sv 1 2
    SV
    0.7 1:0.1 3:-2.5                coefficients of a support vector, one fewer than classes, then its values

A pair of classes answers sum_i coef_i k(x_i, x) - rho, positive for the first of the two in the order of `label`.
Numbers are written with all their digits. Data files in the same notation are read by `fivefold study`, and read and
written by scikit-learn's load_svmlight_file and dump_svmlight_file.

Chang & Lin (2011).
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from fivefold.core.types import Doubles, Vector
from fivefold.svm.one_class import OneClassSVM
from fivefold.svm.support.base import KernelMachine
from fivefold.svm.support.expansion import KernelChoice, SupportExpansion
from fivefold.svm.support_vector_classifier import SVC, KernelClassifier, NuSVC
from fivefold.svm.support_vector_regressor import SVR, NuSVR

MACHINES: dict[str, type[KernelMachine]] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
MOST_DENSE = 10**7  # numbers of support vectors that are kept as a dense table; more are sparse


def write_libsvm_model(model: KernelMachine, path: str | Path) -> None:
    """Write a fitted SVC, NuSVC, OneClassSVM, SVR or NuSVR as LIBSVM does.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from fivefold.svm import SVC, read_libsvm_model, write_libsvm_model
    >>> model = SVC(kernel="linear", C=10.0).fit([[0.0], [2.0], [3.0]], [-1, 1, 1])
    >>> path = Path(mkdtemp()) / "machine.model"
    >>> write_libsvm_model(model, path)
    >>> print(path.read_text().partition("SV\\n")[2].strip())
    0.5 1:0
    -0.5 1:2
    >>> read_libsvm_model(path).predict([[0.9], [1.1]])
    array([-1,  1])
    """
    kind = next((name for name, cls in MACHINES.items() if type(model) is cls), None)
    found: SupportExpansion = model.model_
    if kind is None or found.kernel.name not in KERNELS:
        what = type(model).__name__ if kind is None else f"a {type(model).__name__} whose kernel is a function"
        raise ValueError(f"LIBSVM has no {what}: its files hold {', '.join(c.__name__ for c in MACHINES.values())}")
    kernel = found.kernel
    head = [f"svm_type {kind}", f"kernel_type {KERNELS[kernel.name]}"]
    head += [f"degree {kernel.degree}"] if kernel.name == "poly" else []
    head += [f"gamma {kernel.gamma:.17g}"] if kernel.name in ("poly", "rbf", "sigmoid") else []
    head += [f"coef0 {kernel.coef0:.17g}"] if kernel.name in ("poly", "sigmoid") else []
    coef, rho = found.coefficients(), -np.asarray(found.intercept, dtype=np.float64)
    labels = _whole_labels(model) if isinstance(model, KernelClassifier) else []
    if len(labels) == 2:  # here positive for the second class
        coef, rho = -coef, -rho
    head += [f"nr_class {max(len(labels), 2)}", f"total_sv {coef.shape[1]}", _line("rho", rho)]
    if labels:
        head.append("label " + " ".join(map(str, labels)))
        if found.platt is not None:
            head += [_line("probA", found.platt[:, 0]), _line("probB", found.platt[:, 1])]
        head.append("nr_sv " + " ".join(map(str, found.n_support)))
    rows = [
        " ".join([*(f"{c:.17g}" for c in own), values])
        for own, values in zip(coef.T, _written_vectors(found), strict=True)
    ]
    Path(path).write_text("\n".join([*head, "SV", *rows, ""]), encoding="ascii")


def read_libsvm_model(path: str | Path, n_features: int | None = None) -> Any:
    """The machine of a file that LIBSVM wrote: a fitted SVC, NuSVC, OneClassSVM, SVR or NuSVR.

    `n_features` is the number of columns, by default the largest index among the support vectors: LIBSVM does not keep
    it. What a file does not hold is unknown: C, nu, epsilon, the rows of fit, the duality gap.
    """
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    if "SV" not in (stripped := [line.strip() for line in lines]):
        raise ValueError(f"{path} is not a model of LIBSVM: no line says SV")
    start = stripped.index("SV")
    head = {words[0]: words[1:] for line in lines[:start] if (words := line.split())}
    try:
        return _machine(head, [line.split() for line in stripped[start + 1 :] if line], n_features)
    except (KeyError, ValueError, IndexError, OverflowError) as error:
        said = f"no line says {error.args[0]}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a model of LIBSVM that can be read: {said}") from None


def _machine(head: dict[str, list[str]], rows: list[list[str]], n_features: int | None) -> KernelMachine:
    kind, named = head["svm_type"][0], head["kernel_type"][0]
    name = next((ours for ours, theirs in KERNELS.items() if theirs == named), None)
    if kind not in MACHINES or name is None:
        raise ValueError(f"svm_type {kind} with kernel_type {named} is not known")
    K, total, rho = int(head["nr_class"][0]), int(head["total_sv"][0]), _numbers(head, "rho")
    if len(rows) != total:
        raise ValueError(f"total_sv is {total}, and {len(rows)} support vectors follow")
    classify = kind in ("c_svc", "nu_svc")
    machines = K - 1 if classify else 1
    coef: Doubles = np.array([row[:machines] for row in rows], dtype=np.float64).reshape(total, machines).T
    vectors, support = _read_vectors([row[machines:] for row in rows], name, n_features)
    kernel = KernelChoice(
        name,
        float(head.get("gamma", ["1"])[0]),
        float(head.get("coef0", ["0"])[0]),
        int(head.get("degree", ["3"])[0]),
    )
    platt = (
        np.column_stack([_numbers(head, "probA"), _numbers(head, "probB")]) if classify and "probA" in head else None
    )
    own: dict[str, Any] = {"kernel": kernel.name, "degree": kernel.degree, "gamma": kernel.gamma, "coef0": kernel.coef0}
    own |= {"probability": True} if platt is not None else {}
    model: Any = MACHINES[kind](**own)
    n_support, intercept = np.array([total]), -rho
    if classify:
        labels, n_support = np.array(head["label"], dtype=np.int64), np.array(head["nr_sv"], dtype=np.int64)
        order = np.argsort(labels)
        taken, coef, intercept, flipped = _by_label(coef, intercept, n_support, order)
        vectors, support, n_support = (
            vectors[taken] if name != "precomputed" else vectors,
            support[taken],
            n_support[order],
        )
        if platt is not None:  # the sigmoid of the other class: f and the constant change sign, the slope does not
            platt = _in_pair_order(platt, order)
            platt[flipped, 1] *= -1.0
        model.classes_, model.class_weight_ = labels[order], np.ones(K)
        if K == 2:
            coef, intercept = -coef, -intercept
    width = vectors.shape[1] if name != "precomputed" else int(support.max(initial=0)) + 1
    model.n_features_in_ = n_features or width
    unknown = np.full(len(intercept), np.nan)
    model.model_ = SupportExpansion(
        kernel=kernel, support=support.astype(np.int32), support_vectors=vectors, objects=None,
        dual_coef=csr_array(coef) if issparse(vectors) else coef, intercept=intercept,
        n_support=n_support.astype(np.int32), n_iter=np.zeros(len(intercept), dtype=np.int32), fit_status=0,
        shape_fit=(total, model.n_features_in_), dtype=np.dtype(np.float64), duality_gap=unknown, objective=unknown,
        squared_norm=unknown, platt=platt,
    )  # fmt: skip
    return model


def _by_label(coef: Doubles, intercept: Doubles, n_support: Any, order: Any) -> tuple[Any, Doubles, Doubles, Any]:
    """Support vectors in the order of their classes' labels, with coefficients for the pairs of that order.

    A coefficient is +-alpha, positive where the class of its vector is the first of the pair, so a pair that changes
    its order changes the sign of its coefficients and of its constant.
    """
    K, starts = len(n_support), np.concatenate([[0], np.cumsum(n_support)])
    blocks = [np.arange(starts[k], starts[k + 1]) for k in order]
    taken, place = np.concatenate(blocks), np.argsort(order)
    out, first = np.empty_like(coef), 0
    for k, block in zip(order, blocks, strict=True):
        columns = slice(first, first := first + len(block))
        for other in range(K):
            if other != k:
                before, after = other - (other > k), place[other] - (place[other] > place[k])
                same = (k < other) == (place[k] < place[other])
                out[after, columns] = coef[before, block] if same else -coef[before, block]
    flipped = np.array([order[i] > order[j] for i, j in combinations(range(K), 2)])
    moved = _in_pair_order(intercept[:, None], order)[:, 0]
    return taken, out, np.where(flipped, -moved, moved), flipped


def _in_pair_order(values: Doubles, order: Any) -> Doubles:
    """Rows of the pairs of classes (0, 1), (0, 2), ... as those of classes in another order."""
    number = {pair: p for p, pair in enumerate(combinations(range(len(order)), 2))}
    at = [number[min(order[i], order[j]), max(order[i], order[j])] for i, j in combinations(range(len(order)), 2)]
    return values[at]


def _line(name: str, values: Vector) -> str:
    return " ".join([name, *(f"{value:.17g}" for value in values)])


def _numbers(head: dict[str, list[str]], name: str) -> Doubles:
    return np.array(head[name], dtype=np.float64)


def _whole_labels(model: KernelClassifier) -> list[int]:
    """The classes as the whole numbers that LIBSVM takes."""
    classes = model.classes_
    if classes.dtype.kind not in "biuf" or np.any(classes != np.round(classes.astype(np.float64))):
        raise ValueError(
            f"LIBSVM's labels are whole numbers; the classes are {', '.join(map(repr, classes[:3].tolist()))}...: "
            "fit to numbers in their place, such as those of LabelEncoder"
        )
    return [int(label) for label in classes]


def _written_vectors(found: SupportExpansion) -> list[str]:
    """The values of each support vector, or its number where the kernel was precomputed."""
    if found.kernel.name == "precomputed":
        return [f"0:{i + 1}" for i in found.support]
    Z = csr_array(found.support_vectors)
    if not issparse(found.support_vectors):  # zeros too, so that the number of columns can be read back
        rows = np.asarray(found.support_vectors, dtype=np.float64)
        return [" ".join(f"{j}:{value:.17g}" for j, value in enumerate(row, 1)) for row in rows]
    Z.sort_indices()
    ends = zip(Z.indptr[:-1], Z.indptr[1:], strict=True)
    return [" ".join(f"{Z.indices[e] + 1}:{Z.data[e]:.17g}" for e in range(a, b)) for a, b in ends]


def _read_vectors(rows: list[list[str]], kernel: str, n_features: int | None) -> tuple[Any, Any]:
    """The support vectors, and their numbers; where the kernel was precomputed these alone are known."""
    pairs = [[entry.split(":") for entry in row] for row in rows]
    if kernel == "precomputed":
        return np.empty((0, 0)), np.array([int(float(row[0][1])) - 1 for row in pairs], dtype=np.int64)
    indices = np.array([int(j) - 1 for row in pairs for j, _ in row], dtype=np.int64)
    values = np.array([float(value) for row in pairs for _, value in row])
    widest = int(indices.max(initial=-1)) + 1
    d = n_features or max(widest, 1)
    if widest > d or indices.min(initial=0) < 0:
        raise ValueError(f"indices run from 1 to n_features={d}; got {int(indices.min()) + 1} to {widest}")
    Z = csr_array((values, indices, np.cumsum([0, *map(len, pairs)])), shape=(len(rows), d))
    return (Z if len(rows) * d > MOST_DENSE else Z.toarray()), np.arange(len(rows))
