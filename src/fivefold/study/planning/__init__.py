"""What a study will do, before anything is fitted: `plan`, its `splits`, the methods (`portfolio`), their
`hyperparameters`.
"""
