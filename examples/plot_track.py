"""A track seen through noise and with a gap: what the Kalman filter knows at each step, and what it knows afterwards.

Position and speed are the hidden state, and the position is measured. In the gap the filter's band widens with every
step; the smoother, which knows where the track comes back, needs less. The speed was never measured.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import state_track
from fivefold.sequence import KalmanFilter


def draw():
    model = KalmanFilter(
        transition_matrices=[[1.0, 1.0], [0.0, 0.95]],
        observation_matrices=[[1.0, 0.0]],
        transition_covariance=np.diag([0.01, 0.05]),
        observation_covariance=[[4.0]],
        initial_state_mean=[0.0, 1.0],
        random_state=3,
    )
    states, y = model.sample(90)
    y[40:58] = np.nan
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    state_track(model, y, truth=states[:, 0], ax=left).set_title("position", loc="left", fontsize=10)
    state_track(model, y, state=1, column=None, truth=states[:, 1], ax=right).set_title(
        "speed", loc="left", fontsize=10
    )
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
