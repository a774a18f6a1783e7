"""Hidden Markov model whose states emit members of any family, for columns of different kinds.

    p(x_t | z_t = k) = prod_g p_k^g(x_t,g)

Numbers, counts, zeros and ones, categories: each group of columns has a family, and the same EM fits all of them.
Missing entries are left out (integrated out under Gaussians).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Rng, Table, Weights
from fivefold.distributions.family import Family, FamilyStats
from fivefold.mixture.family_mixture import column_levels, embedded, family_of_columns
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts
from fivefold.sequence.hidden_markov.emissions import FamilyEmission
from fivefold.sequence.hidden_markov.hmm import SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import cluster_states, filled


class MembersParameter(HMMParameter):
    """The members of a family, kept as they are."""

    def __set__(self, estimator: object, value: object) -> None:
        super().__set__(estimator, 0.0)
        vars(estimator)[self._name] = value


class FamilyHMM(BaseHMM):
    """Hidden Markov model of any family: numbers, counts and categories together.

    Parameters
    ----------
    family
        what each state emits: a family from `fivefold.distributions`, or auto: independent Gaussians for columns of
        numbers, categories for columns of text.
    reg_covar
        added to every variance (with family auto).
    smoothing
        number of pseudo-rows added to every level of every category (with family auto), so that no level has
        probability zero.
    prior
        pseudo-statistics, as the family's `prior(...)` returns them.

    Attributes
    ----------
    members_
        the fitted members of the family, one per state.

    Examples
    --------
    >>> import pandas as pd
    >>> from fivefold.sequence import FamilyHMM
    >>> mode = ["idle", "idle", "idle", "busy", None, "busy"]
    >>> X = pd.DataFrame({"load": [0.1, 0.2, None, 5.1, 5.0, 5.2], "mode": mode})
    >>> FamilyHMM(2, random_state=0).fit(X).predict(X)
    array([1, 1, 1, 0, 0, 0])
    """

    n_components: Count = 1
    _: KW_ONLY
    family: Family | Literal["auto"] = "auto"
    reg_covar: NonNegative = 1e-6
    smoothing: NonNegative = 0.1
    prior: Any = None  # the Stats of the family
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 10
    tol: NonNegative = 1e-2
    verbose: bool = False
    params: str = "ste"
    init_params: str = "ste"
    n_init: Count = 1
    training: Literal["soft", "hard"] = "soft"
    start: Literal["random", "clusters"] = "clusters"
    tied_states: list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    takes = Takes(missing=True, empty=False, categories=True, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of rows of mixed columns: numbers, counts, yes or no, categories, with missing entries. Columns "
        "are taken as independent within a state.",
        steps=(
            "Start from the clusters of k-means on standardised columns, a little blurred at random.",
            "Sum over all paths of states, forward and backward: the probability of each state at each row.",
            "Fit the distribution of each state to its rows; repeat until the log-likelihood gains less than tol.",
        ),
        source="Rabiner (1989); Zucchini, MacDonald & Langrock (2016)",
        see_also=("GaussianHMM", "CategoricalHMM", "Mixture"),
        variants=({"smoothing": 1.0, "reg_covar": 1e-3},),
    )

    parts: ClassVar[Mapping[str, str]] = {"s": "startprob_", "t": "transmat_", "e": "members_"}
    members_ = MembersParameter("emission.members")

    def _family(self, d: int) -> tuple[Family, FamilyStats | None]:
        if isinstance(self.family, Family):
            return self.family, self.prior
        if self.prior is not None:
            raise ValueError(
                f"{type(self).__name__}: a prior belongs to a family; give the family too, or use smoothing"
            )
        known = vars(self)["categories_in_"].values if "categories_in_" in vars(self) else {}
        return family_of_columns(known, d, self.reg_covar, self.smoothing)

    def _width(self, parts: Parts, X: Table | None) -> int:
        return int(vars(self).get("n_features_in_", 1)) if X is None else int(X.shape[1])

    def _emission(self, parts: Parts, d: int) -> FamilyEmission:
        family, prior = self._family(d)
        return FamilyEmission(family, parts["members_"], prior, "e" in self.params)

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Any]:
        """Members that differ a little, at random, from those of all rows."""
        K, (family, prior) = self._n_emissions, self._family(batch.table.shape[1])
        levels = column_levels(family)
        is_level = np.array([j in levels for j in range(batch.table.shape[1])])
        X = np.where(is_level, batch.table, filled(batch.table, w))
        return {"members_": family.fit(family.stats(X, rng.dirichlet(np.ones(K), len(X)) * w[:, None]), prior)}

    def _initial_states(self, batch: SequenceBatch, w: Weights, rng: Rng) -> Codes:
        levels = column_levels(self._family(batch.table.shape[1])[0])
        places = embedded(filled(batch.table, w), np.maximum(w, np.finfo(float).tiny), levels)
        return cluster_states(places, w, self.n_components, batch.allowed, rng)
