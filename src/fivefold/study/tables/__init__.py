from fivefold.study.tables.column import Column as Column
from fivefold.study.tables.files import read_table as read_table
from fivefold.study.tables.table import BadInput as BadInput
from fivefold.study.tables.table import Table as Table
