from fivefold.svm.linear import LinearSVC as LinearSVC
from fivefold.svm.linear import LinearSVR as LinearSVR
