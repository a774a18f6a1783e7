"""Support vector machines."""

from fivefold.svm.linear_svm import LinearSVC as LinearSVC
from fivefold.svm.linear_svm import LinearSVR as LinearSVR
