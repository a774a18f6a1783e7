"""Groups of rows without a target: the table, the search, the model of the groups, their profiles and the report."""
