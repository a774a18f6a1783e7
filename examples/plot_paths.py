"""Solvers on their way: a quadratic bowl above, Rosenbrock's valley below, and the number of steps each took.

A fixed rate crawls, exact lines zigzag, one coordinate at a time makes stairs; second-order methods and conjugate
gradients learn the shape. A run ends at a gradient of 1e-6 or after 2000 steps; the cross is the minimum.
"""

import matplotlib.pyplot as plt

from fivefold.optim.functions import LANDSCAPES
from fivefold.optim.minimise import minimise
from fivefold.optim.proximal.proximal_gradient import FISTA
from fivefold.optim.smooth.axial_iteration import AxialIteration
from fivefold.optim.smooth.bfgs import BFGS
from fivefold.optim.smooth.conjugate_gradient import ConjugateGradient, fletcher_reeves
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.line_search import Brent, FixedStep
from fivefold.optim.smooth.newton import Newton, TrustRegion
from fivefold.optim.smooth.steepest_descent import SteepestDescent
from fivefold.optim.stochastic.global_search import GeneticAlgorithm, SimulatedAnnealing
from fivefold.plot import paths

PANELS = {
    "first order": {
        "fixed rate": SteepestDescent(FixedStep(0.1)),
        "exact lines": SteepestDescent(Brent()),
        "FISTA": FISTA(),
    },
    "one by one, and chance": {
        "axial": AxialIteration(Brent()),
        "annealing": SimulatedAnnealing(),
        "genetic": GeneticAlgorithm(),
    },
    "second order": {"Newton": Newton(), "damped Newton": Newton(FixedStep(0.1)), "trust region": TrustRegion()},
    "learned shape": {
        "BFGS": BFGS(),
        "L-BFGS": LBFGS(),
        "Polak-Ribiere": ConjugateGradient(),
        "Fletcher-Reeves": ConjugateGradient(fletcher_reeves),
    },
}
STEPS = {"annealing": 60, "genetic": 60}


def draw():
    figure, panels = plt.subplots(2, 4, figsize=(10, 5.2), layout="constrained")
    for land, line in zip(LANDSCAPES, panels, strict=True):
        for ax, (title, solvers) in zip(line, PANELS.items(), strict=True):
            runs = {
                name: minimise(land.function, land.start, solver, tol=1e-6, max_iter=STEPS.get(name, 2000), record=True)
                for name, solver in solvers.items()
            }
            paths(land, runs, ax=ax)
            ax.set_title(title, loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
