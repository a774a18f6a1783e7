"""Support vector machines."""

from fivefold.svm.hard_negatives import mine_hard_negatives as mine_hard_negatives
from fivefold.svm.kernel_logistic import KernelLogisticRegression as KernelLogisticRegression
from fivefold.svm.kernel_pegasos import KernelPegasos as KernelPegasos
from fivefold.svm.kernel_perceptron import KernelPerceptron as KernelPerceptron
from fivefold.svm.kernel_risk_minimiser import KernelRiskMinimiserClassifier as KernelRiskMinimiserClassifier
from fivefold.svm.kernel_risk_minimiser import KernelRiskMinimiserRegressor as KernelRiskMinimiserRegressor
from fivefold.svm.libsvm_files import read_libsvm_model as read_libsvm_model
from fivefold.svm.libsvm_files import write_libsvm_model as write_libsvm_model
from fivefold.svm.linear_svm import LinearSVC as LinearSVC
from fivefold.svm.linear_svm import LinearSVR as LinearSVR
from fivefold.svm.localized_mkl import LocalizedMKLClassifier as LocalizedMKLClassifier
from fivefold.svm.multiclass_svc import MultiClassSVC as MultiClassSVC
from fivefold.svm.one_class import SVDD as SVDD
from fivefold.svm.one_class import OneClassSVM as OneClassSVM
from fivefold.svm.one_class_classifier import OneClassSVMClassifier as OneClassSVMClassifier
from fivefold.svm.relevance_vector_machine import RVC as RVC
from fivefold.svm.relevance_vector_machine import RVR as RVR
from fivefold.svm.support_prefilter import likely_support_vectors as likely_support_vectors
from fivefold.svm.support_vector_classifier import SVC as SVC
from fivefold.svm.support_vector_classifier import NuSVC as NuSVC
from fivefold.svm.support_vector_regressor import SVR as SVR
from fivefold.svm.support_vector_regressor import NuSVR as NuSVR
