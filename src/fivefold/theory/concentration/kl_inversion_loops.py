"""Loops that invert the binary KL divergence: how much of a mass is left where the divergence reaches a budget?

Two masses g + s = 1; s shrinks to s e^-u and g grows to g + d, with d = s (1 - e^-u). Then

    f(u) = KL(g, g + d) = g x - g ln(1 + x) + s (u - 1 + e^-u),    x = d / g
    f'(u) = d / (g + d),    f''(u) = g s e^-u / (g + d)^2

Both parts of f are positive, so no digit is lost for small u if u - 1 + e^-u and x - ln(1 + x) are summed as series
there. f is convex: f(u) <= s u and f(u) >= s u + g ln g put the root between two numbers, and for small budgets it is

    u = t + (1 + s) t^2 / (6 g) + ...,    t^2 = 2 g budget / s

From there Halley's method takes two steps, sometimes three. With s e^-u rather than d as the unknown the mass that is
left keeps its digits however small it is.
"""

from __future__ import annotations

import math

from fivefold.core.compilation.jit import jit

MAX_STEPS = 60  # a stop in case rounding makes the steps go in circles
SERIES_LIMIT = 0.25  # below this the series have enough terms for every digit; above it the direct form loses two bits
LARGE_RATIO = 1e10  # above this 1 + x is x to every digit, and x may overflow
LAST_STEP = 1e-5  # relative; a step of Halley's method triples the digits, so the next one would be at the rounding


@jit
def log_shrinkage(g, s, budget):
    """The u with KL(g, 1 - s e^-u) = budget, for masses g + s = 1; 0 if there is nothing to shrink."""
    if budget == 0.0 or s == 0.0:
        return 0.0
    if g == 0.0:
        return budget / s
    log_g = math.log1p(-s) if s < 0.5 else math.log(g)
    least = budget / s
    u = min(least - g * log_g / s, max(least, math.sqrt(2.0 * g * least) + (1.0 + s) * least / 3.0))
    for _ in range(MAX_STEPS):
        lost = -math.expm1(-u)  # share of s that is gone
        d = s * lost
        if d == 0.0 or math.isinf(u):  # all is left, or nothing, to the last digit
            break
        q = g + d
        x = d / g
        if x < SERIES_LIMIT:
            r = x / (2.0 + x)
            z = r * r
            tail = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15 + z / 17))))))
            grown = d * r - 2.0 * g * r * z * tail
        elif x < LARGE_RATIO:
            grown = d - g * math.log1p(x)
        else:
            grown = d - g * (math.log(q) - math.log(g))
        if u < SERIES_LIMIT:
            tail = 1 - u / 6 * (1 - u / 7 * (1 - u / 8 * (1 - u / 9 * (1 - u / 10 * (1 - u / 11)))))
            left = s * (u * u / 2) * (1 - u / 3 * (1 - u / 4 * (1 - u / 5 * tail)))
        else:
            left = s * (u - lost)
        newton = (grown + left - budget) / d * q
        bend = 0.5 * newton * (g / q) * (s * (1.0 - lost) / d)  # f'' / (2 f') times the step
        step = newton / (1.0 - bend) if bend < 0.5 else newton
        step = min(step, 0.5 * u)  # u stays positive
        u -= step
        if abs(step) <= LAST_STEP * u:
            break
    return u


@jit
def log_shrinkages(G, S, budgets, U):
    """Fill U, entry by entry."""
    for i in range(U.shape[0]):
        U[i] = log_shrinkage(G[i], S[i], budgets[i])
