"""Support vector machines."""

from fivefold.svm.linear_svm import LinearSVC as LinearSVC
from fivefold.svm.linear_svm import LinearSVR as LinearSVR
from fivefold.svm.support_vector_classifier import SVC as SVC
from fivefold.svm.support_vector_classifier import NuSVC as NuSVC
