"""A plan carried out: `fold` fits one learner on one split, `run` sends folds to `workers` and keeps them in the
`journal`.

Within a fold, `setting_search` chooses the setting, `blend` weighs learners, and `pipelines` makes what is fitted.
`costs` are measured beforehand, and `budget` spends a budget of time by them. `resumption` restores an interrupted
study, `trial` compares learners quickly.
"""
