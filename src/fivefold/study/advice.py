"""Which methods to turn to, by what is known about the source of the data.

distributions   all densities and priors are known: nothing is learned, the best decision follows from Bayes' rule
form            the form of the densities is known, their parameters are not: estimate them
labels          the form is unknown, examples carry their answers: learn the answer directly
nothing         the form is unknown and there are no answers: find groups or directions by similarity
"""

from __future__ import annotations

from typing import Literal, get_args

from fivefold.core.registry import Method, methods

Known = Literal["distributions", "form", "labels", "nothing"]

OF_KNOWN_FORM = frozenset({"naive_bayes", "discriminant_analysis", "mixture"})
ANSWERS = frozenset({"classification", "regression"})


def advise(known: Known) -> tuple[str, ...]:
    """Dotted names of what to use, given what is known.

    Examples
    --------
    >>> advise("nothing")[0]
    'fivefold.cluster.KMeans'
    """
    if known not in get_args(Known):
        raise ValueError(f"known must be one of {', '.join(get_args(Known))}; got {known!r}")
    if known == "distributions":
        return ("fivefold.evaluation.decisions.decide", "fivefold.evaluation.metrics.misclassification")
    return tuple(f"fivefold.{m.chapter}.{m.name}" for m in methods() if _case(m) == known)


def _case(method: Method) -> Known:
    if method.chapter in OF_KNOWN_FORM:
        return "form"
    return "labels" if ANSWERS & set(method.card.applications) else "nothing"
