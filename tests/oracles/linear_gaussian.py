"""The dense joint Gaussian of a linear dynamical system."""

import numpy as np

from fivefold.inference.state_space.linear_system import LinearSystem


def covariance(n, rng):
    M = rng.normal(size=(n, n))
    return M @ M.T / n + 0.2 * np.eye(n)


def random_system(n, m, k=0, T=9, seed=0, varying=False):
    """A stable system; with `varying` every part has one entry per step."""
    rng = np.random.default_rng(seed)
    steps, rows = (T - 1, T) if varying else (1, 1)
    A = rng.normal(size=(steps, n, n))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    return LinearSystem(
        transition=A,
        transition_offset=rng.normal(size=(steps, n)),
        transition_covariance=np.stack([covariance(n, rng) for _ in range(steps)]),
        observation=rng.normal(size=(rows, m, n)),
        observation_offset=rng.normal(size=(rows, m)),
        observation_covariance=np.stack([covariance(m, rng) for _ in range(rows)]),
        initial_mean=rng.normal(size=n),
        initial_covariance=covariance(n, rng),
        control=rng.normal(size=(n, k)),
        feedthrough=rng.normal(size=(m, k)),
    )


def joint_of_system(system, controls, T):
    """Mean and covariance of (x_1 .. x_T, y_1 .. y_T), by writing every variable as a sum of independent ones."""
    n, m = system.transition.shape[1], system.observation.shape[1]

    def at(part, t):
        return part[min(t, len(part) - 1)]

    width = T * (n + m)  # first state, noise of each step, noise of each observation
    noise = np.zeros((width, width))
    noise[:n, :n] = system.initial_covariance
    maps, means = [np.eye(n, width)], [system.initial_mean]
    for t in range(T - 1):
        block = slice((t + 1) * n, (t + 2) * n)
        noise[block, block] = at(system.transition_covariance, t)
        A = at(system.transition, t)
        maps.append(A @ maps[t])
        maps[-1][:, block] += np.eye(n)
        means.append(A @ means[t] + at(system.transition_offset, t) + system.control @ controls[t])
    for t in range(T):
        block = slice(T * n + t * m, T * n + (t + 1) * m)
        noise[block, block] = at(system.observation_covariance, t)
        C = at(system.observation, t)
        maps.append(C @ maps[t])
        maps[-1][:, block] += np.eye(m)
        means.append(C @ means[t] + at(system.observation_offset, t) + system.feedthrough @ controls[t])
    M = np.vstack(maps)
    return np.concatenate(means), M @ noise @ M.T
