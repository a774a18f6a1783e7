"""Figures of packages that the tests do not need, kept in recorded.json so that no test has to be left out.

    PYTHONPATH=tests:. python -m rivals.record

writes the file anew, where statsmodels, osqp, pykalman and filterpy are installed; rows and settings are those of the
tests.
"""

import json
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("recorded.json")
COMMAND = "PYTHONPATH=tests:. python -m rivals.record"


def recorded(kind):
    """The figures of one kind, by the name of the case."""
    return json.loads(PATH.read_text())[kind]


def glm():
    """Estimates, standard errors and dispersion of generalized linear models, weights as repetitions."""
    import statsmodels.api as sm
    from rivals.test_rival_glm import STATS, repetitions, targets

    found = {}
    for family, link, target, theirs, their_link in STATS:
        X, y = targets()
        kind = getattr(sm.families, theirs)(*([getattr(sm.families.links, their_link)()] if their_link else []))
        fit = sm.GLM(y[target], sm.add_constant(X), family=kind, freq_weights=repetitions(X))
        fit = fit.fit(tol=1e-13, maxiter=500)
        found[f"{family}, {link}"] = {
            "estimate": fit.params,
            "standard_error": fit.bse,
            "covariance": fit.cov_params(),
            "dispersion": fit.scale,
        }
    return found


def logistic():
    """Tables of logistic regression with two and three classes, predictor by predictor."""
    import statsmodels.api as sm
    from rivals.test_rival_logistic import problem

    found = {}
    for K in (2, 3):
        X, y, _ = problem(K)
        fit = (sm.Logit if K == 2 else sm.MNLogit)(y, sm.add_constant(X)).fit(disp=0, tol=1e-13)
        found[str(K)] = {
            "estimate": fit.params.T.ravel(),
            "standard_error": np.asarray(fit.bse).T.ravel(),
            "covariance": np.asarray(fit.cov_params()),
            "p_value": np.asarray(fit.pvalues).T.ravel(),
            "interval": np.asarray(fit.conf_int()).reshape(-1, 2),
            "log_likelihood": fit.llf,
            "aic": fit.aic,
            "pseudo R^2": fit.prsquared,
        }
    return found


def least_squares():
    """Tables of least squares on diabetes, with one column moved and without, with an offset and without."""
    import statsmodels.api as sm
    from rivals.test_rival_summary import CASES, diabetes

    found = {}
    for name, (shift, offset) in CASES.items():
        X, y = diabetes(shift)
        fit = sm.OLS(y, sm.add_constant(X) if offset else X).fit()
        found[name] = {
            "estimate": fit.params,
            "standard_error": fit.bse,
            "statistic": fit.tvalues,
            "p_value": fit.pvalues,
            "interval": fit.conf_int(),
            "covariance": fit.cov_params(),
            "log_likelihood": fit.llf,
            "aic": fit.aic,
            "bic": fit.bic,
            "R^2": fit.rsquared,
            "F": fit.fvalue,
            "p of F": fit.f_pvalue,
        }
    return found


def quadratic_programs():
    """Points and multipliers of quadratic programs by OSQP."""
    import osqp
    from rivals.test_rival_quadratic_program import SEEDS, program
    from scipy.sparse import csc_matrix

    found = {}
    for seed in SEEDS:
        c, solver = program(seed), osqp.OSQP()
        solver.setup(
            csc_matrix(c["P"]), c["q"], csc_matrix(np.vstack([c["A"], c["G"], np.eye(7)])),
            np.concatenate([c["b"], np.full(12, -np.inf), c["lb"]]), np.concatenate([c["b"], c["h"], c["ub"]]),
            verbose=False, eps_abs=1e-10, eps_rel=1e-10, max_iter=200_000, polishing=True,
        )  # fmt: skip
        rival = solver.solve(raise_error=True)
        found[str(seed)] = {"x": rival.x, "multipliers": rival.y}
    return found


def kalman():
    """Filtered and smoothed states, likelihood and learned parts by pykalman, and filtered states by filterpy."""
    from filterpy.kalman import KalmanFilter as Plain
    from pykalman import KalmanFilter
    from rivals.test_rival_kalman import CASES, EM_VARS, problem

    found = {}
    for name, (n, m) in CASES.items():
        given, y = problem(name)
        masked, rival = np.ma.masked_invalid(y), KalmanFilter(**given)
        plain = Plain(dim_x=n, dim_z=m)
        plain.x, plain.P = given["initial_state_mean"][:, None], given["initial_state_covariance"]
        plain.F, plain.H = given["transition_matrices"], given["observation_matrices"]
        plain.Q, plain.R = given["transition_covariance"], given["observation_covariance"]
        means, covariances = [], []
        for t, row in enumerate(y):
            if t:
                plain.predict(u=given["transition_offsets"][:, None], B=np.eye(n))
            plain.update(None if np.isnan(row).any() else (row - given["observation_offsets"])[:, None])
            means.append(plain.x[:, 0].copy())
            covariances.append(plain.P.copy())
        found[name] = {
            "filter": rival.filter(masked),
            "smooth": rival.smooth(masked),
            "loglikelihood": float(rival.loglikelihood(masked)),
            "filterpy": [means, covariances],
            "em": {},
        }
        for free, names in EM_VARS.items() if name == "track" else ():
            fit = KalmanFilter(**given).em(masked, n_iter=3, em_vars=names)
            found[name]["em"][free] = {key: getattr(fit, key) for key in given}
    return found


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = {part.__name__: part() for part in (glm, logistic, least_squares, quadratic_programs, kalman)}
    made = {
        "versions": {name: version(name) for name in ("statsmodels", "osqp", "pykalman", "filterpy")},
        "command": COMMAND,
    }
    lists = json.loads(json.dumps(parts, default=lambda array: array.tolist()))
    text = [f'"{part}": {{\n' + ",\n".join(f'"{case}": {json.dumps(v)}' for case, v in cases.items()) + "\n}"
            for part, cases in lists.items()]  # fmt: skip
    head = [f'"{name}": {json.dumps(value)}' for name, value in made.items()]
    PATH.write_text("{\n" + ",\n".join([*head, *text]) + "\n}\n")
