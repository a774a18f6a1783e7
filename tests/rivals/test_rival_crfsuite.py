"""Beside python-crfsuite: the same optimum at the same features and penalties.

Values are not negative here: CRFsuite leaves out features whose values add up to less than zero, which we keep.
"""

import numpy as np
import pytest
from methods.test_linear_chain_crf import sentences
from numpy.testing import assert_allclose

from fivefold.sequence import LinearChainCRF


@pytest.mark.may_skip("python-crfsuite is not installed with the tests")
@pytest.mark.parametrize("setting", [(0.0, 1.0, False), (0.0, 0.05, True), (0.5, 0.1, False), (1.0, 0.0, True)])
def test_the_minimum_and_the_weights_are_those_of_crfsuite(setting, tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    c1, c2, everything = setting
    X, y = sentences(40)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    options = {"c1": c1, "c2": c2, "epsilon": 1e-12, "delta": 1e-12, "max_iterations": 5000}
    trainer.set_params({**options, "feature.possible_states": everything, "feature.possible_transitions": everything})
    for positions, labels in zip(X, y, strict=True):
        trainer.append(positions, labels)
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    ours = LinearChainCRF(
        c1=c1,
        c2=c2,
        epsilon=1e-9,
        delta=0.0,
        max_iterations=5000,
        all_possible_states=everything,
        all_possible_transitions=everything,
    ).fit(X, y)
    assert_allclose(ours.history_[-1], trainer.logparser.last_iteration["loss"], rtol=1e-6)
    theirs = tagger.info().state_features
    if c2 > 0:  # one minimum
        for key, weight in theirs.items():
            assert_allclose(ours.state_features_.get(key, 0.0), weight, atol=2e-3)
    for positions, found in zip(X[:10], ours.predict_marginals(X[:10]), strict=True):
        tagger.set(positions)
        their = [[tagger.marginal(label, t) for label in ours.classes_] for t in range(len(positions))]
        assert_allclose([list(p.values()) for p in found], np.array(their), atol=2e-3)
