"""Kernels as text: `expression(k)` prints the expression that makes k, `parse` reads it back.

    parse("0.5 * rbf(sigma=1) + norm(spectrum(k=3))")
    parse("RBF(length_scale=[1.0, 2.0]).on([0, 1]) * Matern(nu=2.5).on([2]) + WhiteKernel()")

Text is read as a syntax tree of numbers, lists, names of kernels and `+ * **`; nothing else is ever run. Whatever the
rules build is positive semi-definite where its parts are: negative numbers are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from fivefold.kernels.base import KERNELS, Kernel, _bounded, _field_names, as_kernel
from fivefold.kernels.elementary import ConstantKernel
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS

MAX_EXPRESSION_LENGTH = 10_000  # characters: longer text is no expression that a person wrote
SHORT_NAMES = {  # beside the names of classes, whose letter case does not matter
    "chi2": "ChiSquared",
    "constant": "ConstantKernel",
    "laplacian": "Laplace",
    "periodic": "ExpSineSquared",
    "poly": "Polynomial",
    "tanh": "Sigmoid",
    "white": "WhiteKernel",
}
NUMBERS = {"inf": np.inf, "nan": np.nan}
METHODS = ("of", "on", "normalised")  # of kernels that an expression may call


def expression(kernel: Kernel) -> str:
    """The text that makes the kernel."""
    return _print(kernel, 0)


def _print(kernel: Any, level: int) -> str:
    """Text for a place that binds as tightly as `level`: 0 a sum, 1 a factor, 2 the right factor, 3 a base."""
    from fivefold.kernels.algebra import Exponentiation, Product, Sum
    from fivefold.kernels.composition import Composition, NormalisedKernel, OnColumns, PowerSeries

    if isinstance(kernel, Sum):
        return _bracketed(_operands(kernel, " + ", 0, 1), level > 0)
    if isinstance(kernel, Product):
        return _bracketed(_operands(kernel, " * ", 1, 2), level > 1)
    if isinstance(kernel, Exponentiation):
        return _bracketed(f"{_print(kernel.kernel, 3)} ** {_value(kernel.exponent)}", level > 2)
    if isinstance(kernel, NormalisedKernel):
        return f"norm({_print(kernel.kernel, 0)})"
    if isinstance(kernel, PowerSeries):
        inner = _print(kernel.kernel, 0)
        return f"exp({inner})" if _is_exp(kernel.series) else f"PowerSeries({inner}, {_value(kernel.series)})"
    if isinstance(kernel, Composition):
        return f"{_print(kernel.outer, 3)}.of({_print(kernel.base, 0)})"
    if isinstance(kernel, OnColumns):
        return f"{_print(kernel.kernel, 3)}.on({_value(kernel.columns)})"
    return f"{type(kernel).__name__}({', '.join(_arguments(kernel))})"


def _operands(kernel: Any, sign: str, left: int, right: int) -> str:
    """Two kernels with a sign between them; a constant beside a kernel is a number."""
    a, b = kernel.k1, kernel.k2
    first = _value(a.constant_value) if _is_number(a) and not _is_number(b) else _print(a, left)
    second = _value(b.constant_value) if _is_number(b) and not _is_number(a) else _print(b, right)
    return first + sign + second


def _is_number(kernel: Kernel) -> bool:
    return isinstance(kernel, ConstantKernel) and kernel.constant_value_bounds == DEFAULT_BOUNDS


def _is_exp(series: Any) -> bool:  # a name or coefficients
    return isinstance(series, str) and series == "exp"


def _bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _arguments(kernel: Kernel) -> list[str]:
    """Parameters with bounds, and others that are not as by default."""
    defaults = {name: getattr(type(kernel), name, ...) for name in _field_names(type(kernel))}
    shown = []
    for name, value in kernel._values().items():
        default = defaults[name]
        if name in _bounded(type(kernel)) or default is ... or not _same(value, default):
            shown.append(f"{name}={_value(value)}")
    return shown


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and np.array_equal(np.asarray(value), np.asarray(default))


def _value(value: Any) -> str:
    """A parameter as text that `parse` reads."""
    if isinstance(value, Kernel):
        return _print(value, 0)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_value, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    return value.__name__ if callable(value) and hasattr(value, "__name__") else repr(value)


def parse(text: str, **names: Any) -> Kernel:
    """The kernel that an expression makes; `names` are what else it may name, such as functions of your own.

    Examples
    --------
    >>> parse("0.5 * rbf(sigma=2) + norm(linear())")
    0.5 * RBF(length_scale=2) + norm(Linear())
    """
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise ValueError(f"the expression has {len(text)} characters; at most {MAX_EXPRESSION_LENGTH} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return as_kernel(_Reader(names).read(tree.body))
    except (SyntaxError, RecursionError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise ValueError(f"{text!r} is no expression of kernels: {why}") from error


class _Reader:
    """Turns a syntax tree into values, by the few rules of expressions."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def read(self, node: ast.expr) -> Any:  # a kernel, a number, text, a list
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.List | ast.Tuple):
            items = [self.read(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.read(node.operand)
            if isinstance(value, int | float):
                return -value
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise ValueError(f"{ast.unparse(node)!r} has no place in an expression of kernels")

    def _operation(self, node: ast.BinOp) -> Any:  # as `read`
        left, right = self.read(node.left), self.read(node.right)
        if not isinstance(left, Kernel | int | float) or not isinstance(right, Kernel | int | float):
            raise ValueError(f"{ast.unparse(node)!r}: only kernels and numbers are added and multiplied")
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow) and isinstance(left, Kernel) and not isinstance(right, Kernel):
            return left**right
        raise ValueError(f"{ast.unparse(node)!r}: kernels have +, * and ** with a number")

    def _named(self, name: str) -> Any:  # as `read`
        if name in self.names:
            return self.names[name]
        if name in NUMBERS:
            return NUMBERS[name]
        raise ValueError(f"{name!r} is no number; a kernel is called with parentheses, {name}()")

    def _call(self, node: ast.Call) -> Any:  # as `read`
        values = [self.read(argument) for argument in node.args]
        options = {keyword.arg: self.read(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        if len(options) != len(node.keywords):
            raise ValueError(f"{ast.unparse(node)!r}: arguments are written out")
        maker: Callable[..., Any]
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            maker = getattr(as_kernel(self.read(node.func.value)), node.func.attr)
        elif isinstance(node.func, ast.Name):
            maker = self._maker(node.func.id, values, options)
        else:
            raise ValueError(f"{ast.unparse(node.func)!r} is no kernel")
        try:
            return maker(*values, **options)
        except TypeError as error:
            raise ValueError(f"{ast.unparse(node)!r}: {error}") from error

    def _maker(self, name: str, values: list[Any], options: Mapping[str, Any]) -> Callable[..., Any]:
        from fivefold.kernels import composition
        from fivefold.kernels.radial import gaussian

        if name in self.names:
            return self.names[name]
        if name == "exp":
            return composition.exp
        if name in ("norm", "normalised"):
            return composition.NormalisedKernel
        if name == "polynomial" and values and isinstance(values[0], Kernel):
            return composition.polynomial
        if name.lower() in ("rbf", "gaussian") and set(options) & {"sigma", "w", "gamma", "covariance"}:
            return gaussian
        return _class_named("RBF" if name.lower() == "gaussian" else name)


def _class_named(name: str) -> type[Kernel]:
    """The class of that name, whatever its letter case, with or without the word Kernel."""
    import fivefold.kernels.structured  # noqa: F401  # its kernels register their names

    known = {key.lower(): cls for key, cls in KERNELS.items() if not getattr(cls, "__abstractmethods__", None)}
    wanted = SHORT_NAMES.get(name.lower(), name).lower()
    for key in (wanted, f"{wanted}kernel"):
        if key in known:
            return known[key]
    near = [known[key].__name__ for key in get_close_matches(wanted, known, n=3, cutoff=0.5)]
    raise ValueError(f"no kernel is called {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
