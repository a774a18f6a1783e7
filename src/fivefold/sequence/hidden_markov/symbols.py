"""Symbols as codes: what hidden Markov models of symbols do with the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Array, Codes, Table
from fivefold.sequence.hidden_markov.base import Parts

MAX_SYMBOL = 1_000_000  # a larger number was surely not meant as a code, and its table would fill the memory


class SymbolMixin:
    """Columns of symbols 0, 1, ...; `symbol_part` names the parameter with a column per symbol."""

    if TYPE_CHECKING:  # fields of the methods, not of this class
        n_features: int | None
        init_params: str

    symbol_part: ClassVar[str] = "emissionprob_"

    def _levels(self, parts: Parts, d: int) -> tuple[int, ...]:
        """The number of symbols of each column."""
        if "levels_" in vars(self) and len(vars(self)["levels_"]) == d:
            return tuple(vars(self)["levels_"])
        found = np.asarray(parts[self.symbol_part])
        return (int(found.shape[-1]),) if found.ndim == 2 else (0,)

    def _width(self, parts: Parts, X: Table | None) -> int:
        return len(vars(self).get("levels_", (0,))) if X is None else int(X.shape[1])

    def _prepared(self, X: Table, fitting: bool) -> Codes:
        name = type(self).__name__
        missing = np.isnan(X)
        codes = np.trunc(np.where(missing, 0.0, X))
        if (broken := (codes != X) & ~missing).any():
            j = int(broken.any(axis=0).argmax())
            warn(
                f"{name}: column {j} holds {X[broken[:, j].argmax(), j]:g}; symbols are codes 0, 1, ..., so fractions "
                "are cut off. Bin the column first, or let GaussianHMM take it as a number"
            )
        if codes.max() > MAX_SYMBOL:
            raise ValueError(f"{name}: the code {codes.max():g} is too large for a symbol: number them 0, 1, ...")
        if fitting:
            self._learn_levels(codes)
        levels = np.asarray(vars(self)["levels_"] if "levels_" in vars(self) else [self._emission_width()])
        if X.shape[1] != len(levels):
            raise ValueError(f"{name}: X must have {len(levels)} columns of symbols; it has {X.shape[1]}")
        if (unknown := (codes >= levels)).any():
            j = int(unknown.any(axis=0).argmax())
            raise ValueError(
                f"{name}: row {int(unknown[:, j].argmax())} holds the symbol {codes[:, j].max():g}, and the model "
                f"knows those from 0 to {levels[j] - 1}. Fit with n_features={int(codes[:, j].max()) + 1} or more"
            )
        return np.ascontiguousarray(np.where(missing, levels, codes), dtype=np.int64)

    def _emission_width(self) -> int:
        return int(np.shape(getattr(self, self.symbol_part))[1])

    def _learn_levels(self, codes: Array) -> None:
        """Remember how many symbols each column has."""
        known = vars(self)["categories_in_"].values if "categories_in_" in vars(self) else {}
        found = [max(int(m) + 1, len(known.get(j, ()))) for j, m in enumerate(codes.max(axis=0))]
        given = vars(self).get(self.symbol_part)
        if self.n_features is not None:
            if max(found) > self.n_features:
                raise ValueError(
                    f"{type(self).__name__}: the largest symbol is {max(found) - 1}, but n_features={self.n_features} "
                    f"allows those from 0 to {self.n_features - 1}"
                )
            found = [self.n_features] * len(found)
        elif given is not None and "e" not in self.init_params and len(found) == 1:
            found = [max(found[0], int(np.shape(given)[-1]))]
        vars(self)["levels_"] = found
