"""Certificates: what the error of a model on new data will be, with probability 1 - delta."""

from fivefold.theory.bounds import BOUNDS as BOUNDS
from fivefold.theory.bounds import BoundCard as BoundCard
from fivefold.theory.bounds import BoundValue as BoundValue
from fivefold.theory.bounds import Case as Case
from fivefold.theory.bounds import NotApplicable as NotApplicable
from fivefold.theory.bounds import register as register
from fivefold.theory.bounds import registered_bounds as registered_bounds
from fivefold.theory.certificate import Certificate as Certificate
from fivefold.theory.certify import CertificateError as CertificateError
from fivefold.theory.certify import certify as certify
from fivefold.theory.codes import Description as Description
from fivefold.theory.codes import choose_precision as choose_precision
from fivefold.theory.codes import describe as describe
from fivefold.theory.cross_validation_bound import cross_validation_upper as cross_validation_upper
from fivefold.theory.holdout_bound import certify_holdout as certify_holdout
from fivefold.theory.margin_bound import machine_capacities as machine_capacities
from fivefold.theory.margin_bound import vc_confidence as vc_confidence
from fivefold.theory.occam import occam_prune as occam_prune
from fivefold.theory.occam import occam_select as occam_select
from fivefold.theory.occam_boosting import OccamBoostingClassifier as OccamBoostingClassifier
from fivefold.theory.pac_bayes_kernel_probit import PACBayesKernelProbit as PACBayesKernelProbit
from fivefold.theory.pac_bayes_probit import PACBayesProbit as PACBayesProbit
from fivefold.theory.select_by_permutation import SelectByPermutation as SelectByPermutation
from fivefold.theory.select_by_permutation import chance_structure as chance_structure
