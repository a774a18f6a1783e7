"""Certificates: what the error of a model on new data will be, with probability 1 - delta."""

from fivefold.theory.certificate import Certificate as Certificate
from fivefold.theory.holdout_bound import certify_holdout as certify_holdout
from fivefold.theory.margin_bound import machine_capacities as machine_capacities
from fivefold.theory.margin_bound import vc_confidence as vc_confidence
