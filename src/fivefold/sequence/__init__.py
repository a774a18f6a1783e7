"""Models of sequences."""

from fivefold.sequence.kalman_filter import KalmanFilter as KalmanFilter
