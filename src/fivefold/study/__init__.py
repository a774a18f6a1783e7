from fivefold.study.data import BadInput as BadInput
from fivefold.study.data import Data as Data
from fivefold.study.data import load as load
from fivefold.study.data import task_of as task_of
from fivefold.study.plan import Plan as Plan
from fivefold.study.plan import make_plan as make_plan
