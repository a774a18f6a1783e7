"""Output codes: each class has a word of +1 and -1, each machine learns one letter, the nearest word wins.

    class of x = argmin over k of   sum over l of L(M_kl, g_l(x))

    decoding       L(m, g)
    euclidean      (m - g)^2
    hamming        (1 - m sign g) / 2, letters of 0 count one half
    loss           max(0, 1 - m g)

Words that differ in many letters tolerate wrong machines: with distance D between any two words, (D - 1) / 2 of them.
The exhaustive code of K classes has every split of them in two, 2^(K-1) - 1 letters. A poor code is improved by letters
for pairs of classes that are confused, +1 for one, -1 for the other and 0 for the rest, as long as fewer training rows
are misclassified. Such a letter has L(m, g) = max(0, -2 m g): it moves the loser of the pair away, and nothing else.

Dietterich & Bakiri (1995); Allwein, Schapire & Singer (2000); Pujol, Radeva & Vitria (2008).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Index, Learner, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.multiclass.base import BinaryMachines, Reduction, has_decision_values
from fivefold.svm import LinearSVC

MAX_CLASSES_EXHAUSTIVE = 15  # more classes would need more than 16,383 machines


class OutputCodeClassifier(Reduction):
    """A word of +1 and -1 per class, a machine per letter; the nearest word wins.

    Parameters
    ----------
    estimator
        the estimator fitted for each letter: a classifier with `decision_function` or `predict_proba`, or a regressor.
    code_size
        letters of a random word, as a multiple of the number of classes.
    random_state
        seed of the random words.
    code
        "random"; "exhaustive": every way to split the classes in two; "one_vs_rest"; or a matrix (K, L) of +1, -1 and
        0, one row per class in the order of `classes_`; classes with 0 are left out of that letter.
    decoding
        the distance of the answers from a word: "euclidean", "hamming" or "loss" (hinge).
    extra_letters
        how many letters to add at most, each for the pair of classes that is confused most.

    Attributes
    ----------
    estimators_
        one fitted copy per letter.
    code_book_
        the words, one per row.
    classes_
        the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.multiclass import OutputCodeClassifier
    >>> from fivefold.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> member = LinearSVC(random_state=0)
    >>> model = OutputCodeClassifier(member, code="exhaustive", decoding="loss", random_state=0).fit(X, y)
    >>> model.code_book_.astype(int)
    array([[-1, -1, -1],
           [-1,  1,  1],
           [ 1, -1,  1]])
    """

    estimator: Learner
    _: KW_ONLY
    code_size: Positive = 1.5
    random_state: Seed = None
    n_jobs: int | None = None
    code: Literal["random", "exhaustive", "one_vs_rest"] | np.ndarray | list[Any] = "random"
    decoding: Literal["euclidean", "hamming", "loss"] = "euclidean"
    extra_letters: Index = 0

    card = Card(
        applications=("classification",),
        use="Many classes and machines that err: long words correct them. With few classes use the exhaustive code.",
        steps=(
            "Give each class a word of +1 and -1.",
            "Fit a copy per letter: classes with +1 against classes with -1.",
            "The class whose word is nearest to the answers wins.",
        ),
        source="Dietterich & Bakiri (1995); Allwein, Schapire & Singer (2000)",
        see_also=("OneVsRestClassifier", "OneVsOneClassifier"),
        variants=(
            {"code": "exhaustive", "decoding": "loss"},
            {"code": "one_vs_rest", "decoding": "hamming", "extra_letters": 2},
        ),
        given={"estimator": LinearSVC(random_state=0)},
    )

    @property
    def code_book_(self) -> Matrix:
        """The words (K, L), in the labels that the inner estimator was trained on."""
        M = self.model_.M
        return M if has_decision_values(self.estimator) else (M + 1) / 2

    def _labels(self) -> tuple[int, int]:
        return (-1, 1) if has_decision_values(self.estimator) else (0, 1)

    def _matrix(self, K: int) -> Array:
        if not isinstance(self.code, str):
            return _check_code(np.asarray(self.code, dtype=np.float64), K)
        rng = check_random_state(self.random_state)
        return CODES[self.code](K, int(K * self.code_size), rng)

    def _scores(self, X: Table) -> Matrix:
        return self._nearness(self.model_, self.model_.answers(X))

    def _nearness(self, machines: BinaryMachines, answers: Matrix) -> Matrix:
        scale = 1 if has_decision_values(self.estimator) else 2  # probabilities about 1/2 to the scale of M
        M, L = machines.M, machines.M.shape[1] - machines.extra
        away = DISTANCES[self.decoding](M[:, :L], scale * answers[:, :L])
        for letter, answer in zip(M.T[L:], answers.T[L:], strict=True):
            away = away + np.maximum(-2.0 * scale * answer[:, None] * letter, 0.0)
        return -away

    def _extended(self, machines: BinaryMachines, X: Table, codes: Codes, routed: dict[str, Any]) -> BinaryMachines:
        """Letters for confused pairs are kept as long as each lowers the weight of misclassified rows."""
        K, answers = len(self.classes_), machines.answers(X) if self.extra_letters else np.empty((0, 0))
        weight = np.asarray(routed.get("sample_weight", np.ones(len(codes))), dtype=np.float64)
        tried = set[tuple[int, int]]()
        for _ in range(self.extra_letters):
            found = self._nearness(machines, answers).argmax(axis=1)
            confused = _confusion(found, codes, weight, K, tried)
            i, j = np.unravel_index(int(confused.argmax()), confused.shape)
            if not confused[i, j] > 0:
                break
            tried.add((int(i), int(j)))
            letter = np.zeros((K, 1))
            letter[i], letter[j] = 1.0, -1.0
            one = self._machines(X, letter[codes], letter, routed)
            longer = machines.joined(one)
            said = np.hstack([answers, one.answers(X)])
            if weight @ (self._nearness(longer, said).argmax(axis=1) != codes) < weight @ (found != codes):
                machines, answers = longer, said
        return machines


def _confusion(found: Codes, codes: Codes, weight: Vector, K: int, without: set[tuple[int, int]]) -> Matrix:
    """Weight of the rows of each pair of classes that were taken for the other (K, K), in the upper triangle."""
    counts = np.bincount(codes * K + found, weights=weight, minlength=K * K).reshape(K, K)
    pairs = np.triu(counts + counts.T, 1)
    for i, j in without:
        pairs[i, j] = 0.0
    return pairs


def _check_code(M: Array, K: int) -> Array:
    if M.ndim != 2 or len(M) != K or not np.isin(M, (-1, 0, 1)).all():
        raise ValueError(
            f"OutputCodeClassifier: code must be a ({K}, L) matrix of -1, 0 and 1, one row per class; got {M!r}"
        )
    if len(np.unique(M, axis=0)) < K:
        raise ValueError("OutputCodeClassifier: two classes have the same word in code; give each its own")
    return M


def _random(K: int, L: int, rng: Rng) -> Array:
    return np.where(rng.uniform(size=(K, max(L, 1))) > 0.5, 1.0, -1.0)


def _exhaustive(K: int, L: int, rng: Rng) -> Array:
    """Column l: the binary digits of l + 1 for all classes except the first, which is always -1."""
    if K > MAX_CLASSES_EXHAUSTIVE:
        raise ValueError(
            f"OutputCodeClassifier: an exhaustive code of {K} classes has {2 ** (K - 1) - 1} letters; with more than "
            f"{MAX_CLASSES_EXHAUSTIVE} classes use code='random' or give a matrix"
        )
    numbers = np.arange(1, 2 ** (K - 1))
    bits = (numbers >> np.arange(K - 1)[:, None]) & 1
    return np.vstack([-np.ones(len(numbers)), 2.0 * bits[::-1] - 1])


def _one_vs_rest(K: int, L: int, rng: Rng) -> Array:
    return 2 * np.eye(K) - 1


def _euclidean(M: Array, G: Array) -> Array:
    return (G**2).sum(axis=1)[:, None] - 2 * G @ M.T + (M**2).sum(axis=1)


def _hamming(M: Array, G: Array) -> Array:
    return (M.shape[1] - np.where(G > 0, 1.0, -1.0) @ M.T) / 2


def _hinge(M: Array, G: Array) -> Array:
    return np.stack([np.maximum(1 - G * word, 0.0).sum(axis=1) for word in M], axis=1)


CODES = {"random": _random, "exhaustive": _exhaustive, "one_vs_rest": _one_vs_rest}
DISTANCES = {"euclidean": _euclidean, "hamming": _hamming, "loss": _hinge}
