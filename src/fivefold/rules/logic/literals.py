"""Literals as values: a relation between terms, its negation, or an equation.

    parent(X, ann)        not female(X)        X = Y        X != Y

Names that begin with a capital letter or _ are variables, all others constants.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

EQUAL = "="
CONSTANT = re.compile(r"[^\W\dA-Z_]\w*")
RELATION = re.compile(r"[^\W\d]\w*")
KEYWORDS = frozenset({"not", "and", "if", "then", "true"})


@dataclass(frozen=True)
class Variable:
    """Stands for any constant; within a clause variables of one name stand for the same constant."""

    name: str

    def __str__(self) -> str:
        return self.name


Term: TypeAlias = Hashable  # a Variable, or a constant, which may be of any hashable type


@dataclass(frozen=True)
class Atom:
    """A literal: a relation between terms, which are variables or constants, or its negation."""

    relation: str
    terms: tuple[Any, ...]  # each a Term; clauses that Foil grows have variables only
    positive: bool = True

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, each once, in order."""
        return tuple(dict.fromkeys(t.name for t in self.terms if isinstance(t, Variable)))

    def __str__(self) -> str:
        terms = [_written(t) for t in self.terms]
        if self.relation == EQUAL:
            return f"{terms[0]} {'=' if self.positive else '!='} {terms[1]}"
        name = (
            self.relation if RELATION.fullmatch(self.relation) and not _keyword(self.relation) else f"'{self.relation}'"
        )
        return f"{'' if self.positive else 'not '}{name}({', '.join(terms)})"


def _written(term: Term) -> str:
    """A term as `parse_clause` reads it back."""
    if isinstance(term, Variable | int | float) and not isinstance(term, bool):
        return str(term)
    text = str(term)
    if CONSTANT.fullmatch(text) and not _keyword(text):
        return text
    return f'"{text}"' if "'" in text else f"'{text}'"


def _keyword(text: str) -> bool:
    return text.lower() in KEYWORDS
