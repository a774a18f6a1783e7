"""What a method accepts, as it declares it; admission refuses the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol


@dataclass(frozen=True)
class Takes:
    """What a method accepts."""

    missing: bool = False
    empty: bool = True  # with `missing`: a column may be missing entirely, and nothing is learned from it
    categories: bool = False
    sparse: bool = False
    chunks: bool = False  # fit sums over chunks of the table; predictions are made chunk by chunk by every method
    tensors: bool = False  # tensors stay on their device; otherwise they become NumPy arrays
    positive: bool = False  # no negative numbers: counts and the like
    outputs: bool = False  # y may have several columns
    one_class: bool = True  # a y with one class can be learned from
    infinite: bool = False  # infinity is a number larger than all others
    idle_classes: bool = False  # classes whose rows all have weight zero are among `classes_`, with probability zero
    inner: bool = False  # an inner estimator checks X itself: CSC matrices and arrays of more than two axes pass
    huge: bool = False  # numbers are only compared, so ones beyond MAX_BY_TYPECODE do no harm
    sequence: bool = False  # rows are the steps of a sequence: what is said of one depends on those around it
    finite_later: bool = False  # the method itself calls `refuse_nonfinite` when its sums are not finite

    @property
    def unseen(self) -> bool:
        """Are categories that fit did not see allowed, as missing values?"""
        return self.missing and self.categories


class AdmittingEstimator(Protocol):
    """An estimator as admission sees it; what it remembers of the columns of fit is among its attributes."""

    takes: ClassVar[Takes]
