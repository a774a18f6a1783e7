"""The rows of boosting on a device of torch: codes, scores and gradients stay there, trees come to the host.

A tree of the same gradients is that of arrays to the last bit (partition/growers/device_growth.py). Gradients of
squared errors are the same numbers; those that hold e^x may differ in their last bit, which changes a rounded gradient
once in some million rows.
"""

from __future__ import annotations

from fivefold.core.numerics.arrays import AnyArray, namespace, to_device_of
from fivefold.core.types import Array, Doubles, Target, Weights
from fivefold.ensemble.boosting.boosting_losses import BoostingLoss
from fivefold.ensemble.boosting.gradient_rows import GrowthSettings, SharedRows
from fivefold.optim.losses.regression_losses import SquaredLoss
from fivefold.partition.growers.device_growth import DeviceRows, DeviceState, SingleShard, device_codes
from fivefold.partition.growers.sharded_growth import Growth


class RowsOfDevice(DeviceState):
    """Scores and gradients beside the codes, told what to do as a worker is (gradient_rows.py)."""

    def __init__(
        self, settings: GrowthSettings, X: AnyArray, y: Target, w: Weights, target: BoostingLoss, base: Doubles
    ) -> None:
        xp, K, n = namespace(X), target.trees_per_round, len(X)
        self.rows, self.target, self.current = DeviceRows(device_codes(settings.bins, X)), target, False
        self.y = to_device_of(y, X)
        self.w = None if (w == 1).all() else to_device_of(w, X)
        self.weight = float(w.sum())
        self.repeats = None
        self.factors = None  # what gradients are multiplied by
        if self.w is not None:
            if settings.integer_weights:
                self.repeats = self.w.long()
            else:
                self.factors = self.w
        self.F = to_device_of(base, X)[:, None].repeat(1, n)
        self.g, self.h = xp.empty((2, K, n), dtype=xp.float64, device=X.device)

    def extents(self, k: int) -> tuple[float, float]:
        """The largest gradient of output k, and the sum of curvatures."""
        if k == 0:
            self._update_gradients()
        return self.rows.extents(self.g[k], self.h[k], self.repeats)

    def settle(self, growth: Growth, k: int, value: Array) -> None:
        """Add the values of a tree to the scores of output k."""
        self.rows.add(growth, value, self.F[k])
        self.current = False

    def losses(self) -> tuple[float, float]:
        """The sum of the losses, and of the weights."""
        if self.target.classes > 2:
            each = self.F.logsumexp(dim=0) - self.F.gather(0, self.y[None, :])[0]
        else:
            each = self.target.row_losses(self.y, self.F)
        return float(each.sum() if self.w is None else self.w @ each), self.weight

    def _update_gradients(self) -> None:
        if self.current:
            return
        self.current = True
        y, F, g, h = self.y, self.F, self.g, self.h
        if self.target.classes > 2:
            e = (F - F.amax(dim=0)).exp_()
            p = e.div_(e.sum(dim=0))
            h.copy_(p * (1.0 - p))
            g.copy_(p)
            g.scatter_add_(0, y[None, :], g.new_full((1, 1), -1.0).expand(1, len(y)))
        elif self.target.classes:
            z = F[0].abs().neg_().exp_()
            least = z.div_(1.0 + z)
            g[0] = least.where(F[0] <= 0.0, 1.0 - least).sub_(y)
            h[0] = least * (1.0 - least)
        elif isinstance(self.target.loss, SquaredLoss):
            g[0] = F[0] - y
            h[0] = 1.0
        else:
            g[0], h[0] = self.target.loss.slope(y, F[0]), self.target.loss.curvature(y, F[0])
        if self.factors is not None:
            g *= self.factors
            h *= self.factors


def rows_on_device(
    X: AnyArray, y: Target, w: Weights, settings: GrowthSettings, target: BoostingLoss, base: Doubles
) -> SharedRows:
    """The rows of a tensor, with targets and weights of the host, on its device."""
    return SharedRows(settings, SingleShard(RowsOfDevice(settings, X, y, w, target, base)), len(X))
