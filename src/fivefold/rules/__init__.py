"""Rules: conjunctions of conditions on columns, each with an answer, that a person can read and change."""

from fivefold.rules.cn2 import CN2Classifier as CN2Classifier
from fivefold.rules.covering.description_length import description_length as description_length
from fivefold.rules.covering.description_length import foil_gain as foil_gain
from fivefold.rules.covering.description_length import rule_value as rule_value
from fivefold.rules.foil import Foil as Foil
from fivefold.rules.formulas.boolean_formulas import Formula as Formula
from fivefold.rules.irep import IREPClassifier as IREPClassifier
from fivefold.rules.logic.clauses import Clause as Clause
from fivefold.rules.logic.clauses import Program as Program
from fivefold.rules.logic.relations import Database as Database
from fivefold.rules.logic.relations import Relation as Relation
from fivefold.rules.occam_formulas import OccamFormulaClassifier as OccamFormulaClassifier
from fivefold.rules.regression_rules import RuleRegressor as RuleRegressor
from fivefold.rules.ripper import RIPPERClassifier as RIPPERClassifier
from fivefold.rules.rule_extraction import RuleExtractionClassifier as RuleExtractionClassifier
from fivefold.rules.rule_lists.rule_export import RuleExports as RuleExports
from fivefold.rules.rule_lists.rule_lists import Condition as Condition
from fivefold.rules.rule_lists.rule_lists import Rule as Rule
from fivefold.rules.rule_lists.rule_lists import RuleList as RuleList
from fivefold.rules.rule_lists.rule_lists import RuleSet as RuleSet
from fivefold.rules.rule_lists.rule_lists import Schema as Schema
from fivefold.rules.rule_lists.rule_parser import parse as parse
from fivefold.rules.rule_lists.tree_rules import extract_rules as extract_rules
