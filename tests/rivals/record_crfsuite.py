"""Figures of CRFsuite on generated sentences, kept in crfsuite.json so that no test has to be left out.

    PYTHONPATH=tests:. python -m rivals.record_crfsuite

writes the file anew, where python-crfsuite is installed; sentences and settings are those of the tests.
"""

import json
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

PATH = Path(__file__).with_name("crfsuite.json")
COMMAND = "PYTHONPATH=tests:. python -m rivals.record_crfsuite"
SETTINGS = {  # c1, c2, whether features that the rows do not have count too
    "ridge": (0.0, 1.0, False),
    "weak ridge, every feature": (0.0, 0.05, True),
    "lasso and ridge": (0.5, 0.1, False),
    "lasso, every feature": (1.0, 0.0, True),
}
TAGGED = 10  # sentences whose marginals are kept
ONLINE = {  # algorithm and its settings by CRFsuite's names, on all sentences as one: CRFsuite visits several at random
    "averaged perceptron": ("ap", {}),
    "passive aggressive": ("pa", {"type": 0}),
    "passive aggressive, short steps": ("pa", {"type": 1, "c": 0.003, "averaging": False}),
    "passive aggressive, squared slack": ("pa", {"type": 2, "c": 0.01}),
    "passive aggressive, one margin": ("pa", {"type": 1, "error_sensitive": False}),
    "arow": ("arow", {}),
    "arow, slow": ("arow", {"variance": 0.3, "gamma": 2.5}),
}
PASSES = 7  # over the one sequence


def recorded(name, part="settings"):
    """The figures at one setting."""
    return json.loads(PATH.read_text())[part][name]


def figures(setting):
    """The loss as CRFsuite logs it (six decimals), the weights of attributes and labels, and marginals by position."""
    import pycrfsuite
    from methods.test_linear_chain_crf import sentences

    c1, c2, everything = setting
    X, y = sentences(40)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    options = {"c1": c1, "c2": c2, "epsilon": 1e-12, "delta": 1e-12, "max_iterations": 5000}
    trainer.set_params({**options, "feature.possible_states": everything, "feature.possible_transitions": everything})
    for positions, labels in zip(X, y, strict=True):
        trainer.append(positions, labels)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder) / "model"))
        weights = tagger.info().state_features
        marginals = []
        for positions in X[:TAGGED]:
            tagger.set(positions)
            marginals.append(
                [
                    {label: round(tagger.marginal(label, t), 8) for label in sorted(tagger.labels())}
                    for t in range(len(positions))
                ]
            )
        tagger.close()
    return {
        "loss": trainer.logparser.last_iteration["loss"],
        "state_features": [[*key, weight] for key, weight in sorted(weights.items())],
        "marginals": marginals,
    }


def as_one(X, y):
    """All sequences, one after the other, as a single one."""
    return [[position for positions in X for position in positions]], [[label for labels in y for label in labels]]


def online_figures(algorithm, options):
    """The weights after some passes over one sequence, in six decimals as CRFsuite dumps them, and the last loss."""
    import pycrfsuite
    from methods.test_linear_chain_crf import sentences

    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    trainer.set_params({**options, "max_iterations": PASSES})
    for positions, labels in zip(*as_one(*sentences(40)), strict=True):
        trainer.append(positions, labels)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder) / "model"))
        found = tagger.info()
        tagger.close()
    return {
        "loss": trainer.logparser.last_iteration["loss"],
        "state_features": [[*key, weight] for key, weight in sorted(found.state_features.items())],
        "transitions": [[*key, weight] for key, weight in sorted(found.transitions.items())],
    }


def l2sgd_loss():
    """The loss that stochastic gradient descent ends with, at c2 = 1."""
    import pycrfsuite
    from methods.test_linear_chain_crf import sentences

    trainer = pycrfsuite.Trainer("l2sgd", verbose=False)
    for positions, labels in zip(*sentences(40), strict=True):
        trainer.append(positions, labels)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
    return trainer.logparser.last_iteration["loss"]


def main():
    found = {name: figures(setting) for name, setting in SETTINGS.items()}
    made = {"made_by": f"python-crfsuite {version('python-crfsuite')}", "command": COMMAND, "settings": found}
    made |= {"online": {name: online_figures(*setting) for name, setting in ONLINE.items()}, "l2sgd": l2sgd_loss()}
    PATH.write_text(json.dumps(made, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
