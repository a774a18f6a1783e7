"""Rules: conjunctions of conditions on columns, each with an answer, that a person can read and change."""

from fivefold.rules.clauses import Clause as Clause
from fivefold.rules.clauses import Program as Program
from fivefold.rules.cn2 import CN2Classifier as CN2Classifier
from fivefold.rules.coding import description_length as description_length
from fivefold.rules.coding import foil_gain as foil_gain
from fivefold.rules.coding import rule_value as rule_value
from fivefold.rules.export import RuleExports as RuleExports
from fivefold.rules.extract import extract_rules as extract_rules
from fivefold.rules.extraction import RuleExtractionClassifier as RuleExtractionClassifier
from fivefold.rules.foil import Foil as Foil
from fivefold.rules.formulas import Formula as Formula
from fivefold.rules.irep import IREPClassifier as IREPClassifier
from fivefold.rules.occam_formulas import OccamFormulaClassifier as OccamFormulaClassifier
from fivefold.rules.parse import parse as parse
from fivefold.rules.regression_rules import RuleRegressor as RuleRegressor
from fivefold.rules.relations import Database as Database
from fivefold.rules.relations import Relation as Relation
from fivefold.rules.ripper import RIPPERClassifier as RIPPERClassifier
from fivefold.rules.values import Condition as Condition
from fivefold.rules.values import Rule as Rule
from fivefold.rules.values import RuleList as RuleList
from fivefold.rules.values import RuleSet as RuleSet
from fivefold.rules.values import Schema as Schema
