"""Warm starts: a fit that goes on from the one before, on columns and classes of the same kind.

Trees that ask about a column which is not there would read past the end of a row: what was learned is put aside while
the new table is admitted, and taken up again only if the table fits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Aside:
    """What was learned, and from what kind of table."""

    model: Any
    columns: int
    categories: Any  # of the columns that hold any
    classes: Any  # None for numbers
    outputs: Any


class WarmStart:
    """A method that with `warm_start` keeps what it has learned, and adds to it."""

    def _forget(self: Any) -> None:
        """Before a new fit: what was learned is put aside."""
        vars(self).pop("_aside", None)
        if self.warm_start and "model_" in vars(self):
            told = (getattr(self, name, None) for name in ("categories_in_", "classes_", "n_outputs_"))
            self._aside = Aside(self.model_, self.n_features_in_, *told)
        vars(self).pop("model_", None)

    def _resume(self: Any, X: Any, y: Any = None) -> Any:
        """Take up what was learned before, and give it; None where there is nothing. Refuses data of another kind."""
        aside: Aside | None = vars(self).pop("_aside", None)
        if aside is None:
            return None
        outputs = 1 if y is None or y.ndim == 1 else y.shape[1]
        for what, before, now in (
            ("columns", aside.columns, X.shape[1]),
            ("categories", aside.categories, getattr(self, "categories_in_", None)),
            ("outputs", aside.outputs or outputs, outputs),
            ("classes", _listed(aside.classes), _listed(getattr(self, "classes_", None))),
        ):
            if now != before:
                raise ValueError(
                    f"{type(self).__name__}: warm_start=True goes on from a fit with {what} {before}; this table has "
                    f"{what} {now}. Give data of the same kind, or set warm_start=False to start afresh"
                )
        self.model_ = aside.model
        return aside.model


def _listed(classes: Any) -> Any:
    return [np.asarray(c).tolist() for c in classes] if classes is not None else None
