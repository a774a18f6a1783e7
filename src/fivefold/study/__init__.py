"""A study: which method predicts a target best, by nested cross-validation.

tables read, preparation encodes columns, planning decides, running fits in workers and keeps a journal, judging ranks
and tests, models saves the winner, report writes it down, guide leads through the cycle; outputs ties up.
"""

from fivefold.study.guide.feature_selection import select_features as select_features
from fivefold.study.guide.problem import Experience as Experience
from fivefold.study.guide.problem import LearningProblem as LearningProblem
from fivefold.study.planning.plan import Plan as Plan
from fivefold.study.planning.plan import make_plan as make_plan
from fivefold.study.tables.dataset import BadInput as BadInput
from fivefold.study.tables.dataset import Data as Data
from fivefold.study.tables.dataset import load as load
from fivefold.study.tables.dataset import task_of as task_of
