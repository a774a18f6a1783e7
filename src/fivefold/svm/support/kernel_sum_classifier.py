"""Classifiers that answer with one sum of kernels per class, or with one for two classes."""

from __future__ import annotations

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Array, Doubles, Matrix, Table, UserTable
from fivefold.linear_model.solvers.class_outputs import binary_probabilities, normalise_rows
from fivefold.svm.support.kernel_estimator import SupervisedKernelEstimator


class KernelSumClassifier(SupervisedKernelEstimator, Classifier):
    """One output per class, the largest wins; for two classes a single one, positive for the second."""

    takes = Takes(sparse=True, one_class=False)

    def decision_function(self, X: UserTable) -> Array:
        """The answer of every machine (n, K); for two classes (n,), positive for the second."""
        X = self._admit(X)
        answers = self._outputs(X).astype(self.model_.dtype, copy=False)
        return answers if answers.shape[1] > 1 else answers[:, 0]

    def _scores(self, X: Table) -> Matrix:
        answers = self._outputs(X)
        return answers if answers.shape[1] > 1 else np.column_stack([-answers[:, 0], answers[:, 0]])


class ProbabilisticKernelClassifier(KernelSumClassifier):
    """The same with probabilities: `_probabilities(X)` of a machine's own class, divided by their sum."""

    def _probabilities(self, X: Table) -> Doubles:
        """Of the machine's own class, at admitted rows (n, machines)."""
        raise TypeError(f"{type(self).__name__} has no probabilities")

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes (n, K)."""
        X = self._admit(X)
        p = self._probabilities(X)
        P = binary_probabilities(p[:, 0]) if p.shape[1] == 1 else normalise_rows(p)
        return np.asarray(P.astype(self.model_.dtype, copy=False))

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
