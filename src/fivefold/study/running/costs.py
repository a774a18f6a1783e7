"""What fits cost, measured before a study runs, and what a plan costs by that.

Every learner is fitted on samples of increasing size until a fit takes a while. The last two sizes tell which part of
its time is fixed and which grows with the rows; the columns are timed apart, since all settings of a search share
them. The settings of the shortest search are timed on a sample of moderate size: what they cost beside the defaults. A
learner that takes long on the smallest sample already, as boosting of many classes does, is fitted on no larger one,
unless its growth is not known.

No row of the hold-out takes part.
"""

from __future__ import annotations

import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fivefold.study.formatting import shorten_name
from fivefold.study.planning.hyperparameters import Setting, halving_rungs, race_finalists
from fivefold.study.planning.plan import FitCost, Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import subsample
from fivefold.study.running.pipelines import build_pipeline

SAMPLE_ROWS = (250, 1_000, 4_000)  # sizes of the samples that are timed
ENOUGH_SECONDS = 0.5  # once a fit takes this long, no larger sample is timed
MAX_OTHERS_SECONDS = 0.25  # other settings are timed on the largest sample that the defaults took no longer for
MIN_OTHERS_SECONDS = 0.02  # where they took less, and for ensembles, the smallest sample is enough
MORE_OTHERS_SECONDS = 0.03  # while all other settings together took less, one more is timed
MAX_SETTING_SECONDS, MAX_SETTING_RATIO = 1.0, 10.0  # a setting is interrupted after these seconds of the processor, or
# this multiple of the time of the defaults, whichever is more
UNFINISHED_FACTOR = 5.0  # a setting that was interrupted is taken to need this multiple of the time it had
TIMED_SETTINGS, USUAL_OTHERS = 2, 1.5  # settings timed besides the defaults; their time over that of these if not timed
MAX_FIXED_SHARE = 0.5  # of the time on the largest sample: small times are noisy, and tables are larger
MAX_NAME_LETTERS = 40  # of a learner's name in the forecast
MIN_LIMIT_SECONDS, LIMIT_FACTOR = 20.0, 10.0  # time limit of a fold: at least this, and this multiple of its forecast


class TimedFit(NamedTuple):
    """Seconds to prepare the columns of a sample, and to fit and predict it."""

    rows: int
    preparation: float
    fit: float


@dataclass(frozen=True)
class CostForecast:
    """Seconds that a study will take: per fold of each learner, and in all with `jobs` workers."""

    fold_seconds: Mapping[str, float]
    folds: int
    jobs: int
    final_seconds: float = 0.0  # to tune and fit the winner on all rows

    @property
    def seconds(self) -> float:
        """From the first fold to the last fit."""
        return sum(self.fold_seconds.values()) * self.folds / self.jobs + self.final_seconds

    def __str__(self) -> str:
        costliest_first = sorted(self.fold_seconds.items(), key=lambda entry: -entry[1])
        names = {name: shorten_name(name, MAX_NAME_LETTERS) for name in self.fold_seconds}
        width = max(map(len, names.values()), default=0)
        lines = [
            f"{names[name]:<{width}}  {format_forecast(each):>8} per fold  {format_forecast(each * self.folds):>8}"
            for name, each in costliest_first
        ]
        workers = "one worker" if self.jobs == 1 else f"{self.jobs} workers"
        return "\n".join([*lines, f"about {format_forecast(self.seconds)} in all with {workers}"])


def measure_cost(plan: Plan, learner: Learner) -> FitCost:
    """Seconds of a fit and its predictions, how they grow with the rows, and what other settings cost."""
    rows = plan.splits[0].train
    timed = _time_defaults(plan, learner, rows)
    more = timed[-1]
    cost = FitCost(
        seconds=more.fit,
        rows=more.rows,
        growth=learner.growth or 0.0,
        preparation=more.preparation,
        others=_cost_of_others(plan, learner, rows, timed),
    )
    if len(timed) == 1:
        return cost
    fewer = timed[-2]
    share = fewer.rows / more.rows
    growth = max(0.0, math.log(fewer.fit / more.fit) / math.log(share)) if learner.growth is None else learner.growth
    return replace(
        cost,
        growth=growth,
        fixed=_fixed_part(fewer.fit, more.fit, share ** max(1.0, growth)),
        preparation_fixed=_fixed_part(fewer.preparation, more.preparation, share),
    )


def _fixed_part(fewer: float, more: float, share: float) -> float:
    """The seconds a of a + b, if a + share b are `fewer` and a + b `more`; at most a share of these."""
    fixed = (fewer - share * more) / (1.0 - share)
    return min(max(0.0, fixed), MAX_FIXED_SHARE * more)


def _time_defaults(plan: Plan, learner: Learner, rows: np.ndarray) -> list[TimedFit]:
    """The times of samples of increasing size; a first fit that compiled, or loaded what was, is repeated."""
    sizes = [size for size in SAMPLE_ROWS if size < len(rows)] + ([len(rows)] if len(rows) <= SAMPLE_ROWS[-1] else [])
    sizes = sizes if len(sizes) > 1 else [len(rows) // 2, len(rows)]

    def time_defaults(size: int) -> TimedFit:
        return time_one_fit(plan, learner, learner.settings[0], rows, size)

    timed = [time_defaults(sizes[0])]
    repeated = timed[0].fit > ENOUGH_SECONDS
    if repeated:
        timed = [time_defaults(sizes[0])]
    for size in sizes[1:]:
        if timed[-1].fit > ENOUGH_SECONDS and (len(timed) > 1 or learner.growth is not None):
            break
        timed.append(time_defaults(size))
    if not repeated and timed[0].fit > timed[1].fit:
        timed[0] = time_defaults(sizes[0])
    return timed


def _cost_of_others(plan: Plan, learner: Learner, rows: np.ndarray, timed: Sequence[TimedFit]) -> float:
    """The mean time of settings besides the defaults, over that of the defaults.

    Those of the shortest search are timed, and as many others as take next to no time.
    """
    short = learner.with_draws(1 + TIMED_SETTINGS, plan.seed).settings[1 : 1 + TIMED_SETTINGS]
    if len(learner.settings) == 1 or not short:
        return 1.0
    quick = [one for one in timed if one.fit <= MAX_OTHERS_SECONDS]
    if not quick:
        return USUAL_OTHERS
    ratios, smallest, start = list[float](), timed[0], time.perf_counter()
    grows_alike = learner.method.chapter == "ensemble" or quick[-1].fit <= MIN_OTHERS_SECONDS
    largest = smallest if grows_alike else quick[-1]
    for setting in (*short, *learner.settings[1:]):
        if len(ratios) >= len(short) and time.perf_counter() - start > MORE_OTHERS_SECONDS:
            break
        ratio = _time_ratio(plan, learner, setting, rows, smallest)
        # a weak penalty may take a hundred times as long
        if largest is not smallest and ratio * largest.fit <= ENOUGH_SECONDS:
            ratio = _time_ratio(plan, learner, setting, rows, largest)
        ratios.append(ratio)
    return float(np.mean(ratios))


def _time_ratio(plan: Plan, learner: Learner, setting: Setting, rows: np.ndarray, defaults: TimedFit) -> float:
    """The time of a setting over that of the defaults; a multiple of the limit if it is not done by then."""
    limit = max(MAX_SETTING_SECONDS, MAX_SETTING_RATIO * defaults.fit)
    try:
        with interruption_after(limit):
            return time_one_fit(plan, learner, setting, rows, defaults.rows).fit / defaults.fit
    except TimeoutError:
        return UNFINISHED_FACTOR * limit / defaults.fit


@contextmanager
def interruption_after(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after this much time of the processor; outside the main thread, and on Windows, never."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def forecast_cost(plan: Plan, jobs: int | None = None) -> CostForecast:
    """The cost of a plan, by the measured costs of its learners."""
    jobs = jobs or plan.jobs
    each = {learner.name: fold_seconds(plan, learner) for learner in plan.learners}
    rows = len(plan.data.y) - len(plan.holdout)
    final = [_final_seconds(plan, learner, rows) for learner in plan.learners if not learner.baseline]
    blend = sum(search / jobs + fits for search, fits in final)  # searches run side by side, fits one after the other
    last = blend if plan.blend else max(map(sum, final), default=0.0)
    return CostForecast(each, len(plan.splits), jobs, last)


def fold_seconds(plan: Plan, learner: Learner) -> float:
    """Seconds per outer split: the search, and the fit of the chosen setting."""
    n = float(np.mean([len(split.train) for split in plan.splits]))
    return _search_seconds(plan, learner, n) + _fit_seconds(plan, learner, n)


def _final_seconds(plan: Plan, learner: Learner, rows: int) -> tuple[float, float]:
    """Seconds to tune the learner on all rows outside the hold-out, and to fit it there and on all rows."""
    again = _fit_seconds(plan, learner, len(plan.data.y)) if len(plan.holdout) else 0.0
    search = _search_seconds(plan, learner, rows) if plan.chooses(learner) else 0.0
    return search, _fit_seconds(plan, learner, rows) + again


def _fit_seconds(plan: Plan, learner: Learner, n: float) -> float:
    """Seconds to fit the chosen setting on n rows and predict them, whose columns are prepared once for either."""
    cost = plan.costs.get(learner.name)
    if cost is None:
        return 0.0
    return 2 * cost.prepare_at(n) + cost.mean_of(len(learner.settings)) * cost.fit_at(n)


def _search_seconds(plan: Plan, learner: Learner, n: float) -> float:
    """Seconds to choose a setting on the inner splits of n rows."""
    cost = plan.costs.get(learner.name)
    if cost is None:
        return 0.0
    folds, count = plan.tuning_folds, len(learner.settings)
    m = n * (plan.inner_folds - 1) / plan.inner_folds  # rows of an inner training set
    if plan.races(learner):
        fits = [(count + (1 + race_finalists(count)) * (folds - 1.0), 1.0)]  # number of fits, share of the rows
        prepared = [1.0]  # shares of the rows whose columns are prepared, per inner fold
    else:
        first, *later = halving_rungs(count, int(n), halving=plan.halving)
        kept = [(min(count, rung.settings + 1), rung.share) for rung in later]  # the defaults always go on
        fits = [(folds * settings, share) for settings, share in ((first.settings, first.share), *kept)]
        prepared = [share for _, share in fits]
    beyond = 1 if learner.ranges and count > 1 else 0  # about one value beyond the end of a range
    finish = 2 if learner.finish and count > 1 else 0  # about twice the time of another setting
    logarithm = 1 if plan.log_target and learner.tries_logarithm else 0
    fits.append((folds * (beyond + finish + logarithm), 1.0))
    if plan.halving:  # prepared columns are not kept
        prepared += [1.0] * (beyond + min(1, finish) + logarithm)
    preparing = folds * sum(2 * cost.prepare_at(share * n / 2) for share in prepared)  # training and test rows apart
    return preparing + cost.mean_of(count) * sum(number * cost.fit_at(share * m) for number, share in fits)


def fold_time_limit(plan: Plan, learner: Learner) -> float:
    """Seconds after which a fold of the learner is stopped."""
    return max(MIN_LIMIT_SECONDS, LIMIT_FACTOR * fold_seconds(plan, learner))


def time_one_fit(plan: Plan, learner: Learner, setting: Setting, rows: np.ndarray, size: int) -> TimedFit:
    """The time of a sample of this size; linear algebra on one thread, as in a worker."""
    data = plan.coded(plan.data)
    sample = subsample(data, rows, size / len(rows), plan.seed)
    prepare, method = build_pipeline(data, learner, setting, 0, sample)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        X = prepare.fit_transform(data.X[sample], data.y[sample])
        prepared = time.perf_counter()
        method.fit(X, data.y[sample]).predict(X)
        ended = time.perf_counter()
    return TimedFit(size, max(prepared - start, 1e-6), max(ended - prepared, 1e-6))


def format_forecast(value: float) -> str:
    """Seconds or minutes, as exact as a forecast is."""
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"
