"""The reason told for a learner whose workers died hung on which of its folds died first."""

from fivefold.study.planning.plan import make_plan
from fivefold.study.running import run
from fivefold.study.running.workers import TaskResult
from fivefold.study.tables.dataset import load


class LastFoldsDieFirst:
    jobs = 2

    def run(self, tasks):
        return [TaskResult(task, "died", None, 0.1, "exit code 9") for task, _ in reversed(list(tasks))]


class Entries(list):
    add_fold = list.append


def test_the_first_split_tells_why_whichever_died_first(monkeypatch):
    plan, journal = make_plan(load("iris"), ["GaussianNB"], repeats=1, folds=2), Entries()
    learner = next(one for one in plan.learners if one.name == "GaussianNB")
    pending = {(learner.name, i): (learner, split) for i, split in enumerate(plan.splits)}
    monkeypatch.setattr(run, "pending_folds", lambda plan, journal: pending)
    monkeypatch.setattr(run, "read_outcomes", lambda plan, journal: ())
    run.run_pending(plan, journal, LastFoldsDieFirst())
    reasons = [entry.reason for entry in journal]
    assert reasons == ["exit code 9, twice, once while it ran alone", "exit code 9"]
    assert [entry.split for entry in journal] == [0, 1]
