"""What the folds say: `results` ranks and tests learners, `final_holdout` certifies the winner, `inspection` explains
it.

`study_comparison` ranks learners over several studies. The tests themselves are in `evaluation.comparison`.
"""
