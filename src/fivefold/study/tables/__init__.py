"""From a file to a typed table with a target: formats, encodings, dialects, dates, number notations, column kinds.

`dataset.load` is the way in; `table.BadInput` is every error that a user can put right.
"""

from fivefold.study.tables.column import Column as Column
from fivefold.study.tables.files import read_table as read_table
from fivefold.study.tables.table import BadInput as BadInput
from fivefold.study.tables.table import Table as Table
