"""A plan carried out: `fold` fits one learner on one split, `run` sends folds to `workers` and keeps them in the
`journal`.

`budget` measures costs beforehand, `resumption` restores an interrupted study, `trial` compares learners quickly.
"""
