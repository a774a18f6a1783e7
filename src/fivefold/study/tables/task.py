"""The task that a target sets."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """Classification or regression; equal to its name, and written as its name wherever it is stored."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    MULTIVARIATE_REGRESSION = "multivariate regression"

    __repr__ = str.__repr__  # digests of data take the plain word

    @property
    def is_classification(self) -> bool:
        """Are the values of the target classes?"""
        return self is Task.CLASSIFICATION

    @property
    def is_studied(self) -> bool:
        """Can a study do it?"""
        return self is not Task.MULTIVARIATE_REGRESSION

    @property
    def quick_score(self) -> str:
        """The score of quick trials, which ask which of two learners is better."""
        return "accuracy" if self.is_classification else "rmse"
