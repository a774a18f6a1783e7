"""What a kernel is: k(x, y) = <phi(x), phi(y)> for objects of any kind.

A kernel is a value. Arithmetic makes new kernels, `k.replace(theta)` the same kernel with other parameters, and nothing
changes one in place except `set_params`, `theta = ...` and `length_scale = ...`, by which scripts and searches written
for scikit-learn set parameters of their own copies.

    K = k(X, Y)            the matrix k(x_i, y_j); without Y between the objects of X
    k.diag(X)              k(x_i, x_i)
    k.theta, k.bounds      logarithms of the free parameters
    k.gradient(X)          the derivatives of K by theta, one matrix after another
    k.pullback(X)          K, and the function W -> sum_ij W_ij dK_ij / dtheta: no array n x n x p is made

The evidence of a Gaussian process has the gradient pull(W) with W = (a a' - C^-1) / 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias, dataclass_transform

import numpy as np
from scipy.sparse import issparse

from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.kernels.log_parameters import (
    Hyperparameter,
    hyperparameter,
    is_fixed,
    log_bounds,
    log_values,
    sum_of_products,
)

Objects: TypeAlias = Any  # n things of the kind that a kernel compares: rows of a table, texts, graphs
Pullback: TypeAlias = Callable[[Array], Vector]  # weights of the entries -> derivative by theta

KERNELS: dict[str, type[Kernel]] = {}  # every class of kernels by its name, for expressions


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Kernel(ABC):
    """A similarity of two objects that is an inner product; typed fields of a subclass are its parameters."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)
        KERNELS.setdefault(cls.__name__, cls)

    @abstractmethod
    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        """k(x_i, y_j); without Y symmetric to the last bit."""

    @abstractmethod
    def diag(self, X: Objects) -> Vector:
        """k(x_i, x_i)."""

    @abstractmethod
    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        """The derivatives of the matrix by the logarithms of the free parameters, in the order of theta."""

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        """The derivatives of the diagonal, in the order of theta; zero for stationary kernels."""
        if not self.is_stationary():
            raise TypeError(f"{type(self).__name__} does not say how its diagonal depends on its parameters")
        yield from (np.zeros(count(X)) for _ in range(self.n_dims))

    def is_stationary(self) -> bool:
        """Does k(x, y) depend on x - y alone?"""
        return all(child.is_stationary() for _, child in self._children())

    @property
    def requires_vector_input(self) -> bool:
        """Are the objects rows of numbers?"""
        return any(child.requires_vector_input for _, child in self._children())

    def __call__(self, X: Objects, Y: Objects | None = None, eval_gradient: bool = False) -> Any:
        """The matrix; with `eval_gradient` also its derivatives (n, n, p), which `gradient` gives one at a time.

        Of two single rows, arrays of one axis, it is a number: what scikit-learn asks of a function as kernel.
        """
        if not eval_gradient:
            if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray) and X.ndim == 1 == Y.ndim:
                return self._gram(X[None], Y[None])[0, 0] if self.requires_vector_input else self._gram(X, Y)
            return self._gram(X, Y)
        if Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None: k.gradient(X, Y) takes both")
        K = self._gram(X, None)
        found = list(self.gradient(X))
        return K, np.stack(found, axis=2) if found else np.empty((*K.shape, 0))

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        """Rows `indices` of the matrix k(X)."""
        return self._gram(take(X, indices), X)

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        """The matrix, and what turns weights W of its entries into sum_ij W_ij dK_ij / dtheta."""
        return self._gram(X, Y), lambda W: np.array([sum_of_products(W, D) for D in self.gradient(X, Y)])

    is_cheap: ClassVar[bool] = False  # can it be added to a matrix, or multiply one, without a matrix of its own?

    def _add_to(self, K: Matrix, X: Objects, Y: Objects | None) -> None:
        """K += k(X, Y)."""
        K += self(X, Y)

    def _multiply(self, K: Matrix, X: Objects, Y: Objects | None) -> None:
        """K *= k(X, Y)."""
        K *= self(X, Y)

    def diag_pullback(self, X: Objects) -> tuple[Vector, Pullback]:
        """The diagonal, and what turns weights of its entries into the derivative by theta."""
        return self.diag(X), lambda w: np.array([sum_of_products(w, D) for D in self.diag_gradient(X)])

    # --- parameters

    def _children(self) -> tuple[tuple[str, Kernel], ...]:
        """Kernels that this one is made of, by their names."""
        return tuple((name, part) for name, part in self._values().items() if isinstance(part, Kernel))

    def _values(self) -> dict[str, Any]:
        """Its fields, whatever they hold."""
        return {name: getattr(self, name) for name in _field_names(type(self))}

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Every parameter that has bounds, fixed ones included, in the order of theta."""
        own = [
            hyperparameter(name, getattr(self, name), getattr(self, f"{name}_bounds")) for name in _bounded(type(self))
        ]
        return own + [found.within(part) for part, child in self._children() for found in child.hyperparameters]

    def _free(self) -> list[str]:
        """Names of its own parameters that are part of theta."""
        return [name for name in _bounded(type(self)) if not is_fixed(getattr(self, f"{name}_bounds"))]

    @property
    def theta(self) -> Vector:
        """The logarithms of the free parameters."""
        parts = [log_values(getattr(self, name)) for name in self._free()]
        parts += [child.theta for _, child in self._children()]
        return np.concatenate(parts) if parts else np.empty(0)

    @theta.setter
    def theta(self, theta: Vector) -> None:
        for name, value in self.replace(theta)._values().items():
            object.__setattr__(self, name, value)

    @property
    def bounds(self) -> Matrix:
        """The logarithms of the bounds of the free parameters, (p, 2)."""
        found = [log_bounds(h) for h in self.hyperparameters if not h.fixed]
        return np.vstack(found) if found else np.empty((0, 2))

    @property
    def n_dims(self) -> int:
        """Length of theta."""
        own = sum(int(np.size(getattr(self, name))) for name in self._free())
        return own + sum(child.n_dims for _, child in self._children())

    def replace(self, theta: Sequence[float] | Vector) -> Self:
        """The kernel with these logarithms of its free parameters."""
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != (self.n_dims,):
            raise ValueError(f"theta has shape {theta.shape}, but the kernel has {self.n_dims} free parameters: {self}")
        return self._replaced(np.exp(theta))

    clone_with_theta = replace

    def _replaced(self, values: Vector) -> Self:
        changes: dict[str, object] = {}
        at = 0
        for name in self._free():
            value = getattr(self, name)
            size = int(np.size(value))
            changes[name] = values[at : at + size].copy() if np.ndim(value) else float(values[at])
            at += size
        for name, child in self._children():
            size = child.n_dims
            changes[name] = child._replaced(values[at : at + size])
            at += size
        return self._with(**changes)

    def _with(self, **changes: object) -> Self:
        return type(self)(**{**self._values(), **changes})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments of the constructor, as scikit-learn asks for them; with `deep` those of parts too."""
        found = self._values()
        if deep:
            for name, child in self._children():
                found.update({f"{name}__{key}": value for key, value in child.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change this very kernel: what scikit-learn's searches do with the copies that they make."""
        known = _field_names(type(self))
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(sorted(known)) or 'none'}"
                )
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                object.__setattr__(self, name, value)
        return self

    # --- algebra

    def __add__(self, other: Kernel | float) -> Kernel:
        from fivefold.kernels.algebra import Sum

        return Sum(self, as_kernel(other)) if _is_term(other) else NotImplemented

    def __radd__(self, other: float) -> Kernel:
        from fivefold.kernels.algebra import Sum

        return Sum(as_kernel(other), self) if _is_term(other) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        from fivefold.kernels.algebra import Product

        return Product(self, as_kernel(other)) if _is_term(other) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        from fivefold.kernels.algebra import Product

        return Product(as_kernel(other), self) if _is_term(other) else NotImplemented

    def __pow__(self, exponent: float) -> Kernel:
        from fivefold.kernels.algebra import Exponentiation

        return Exponentiation(self, exponent)

    def of(self, base: Kernel) -> Kernel:
        """This kernel of the features of `base`, in place of the numbers of the rows."""
        raise TypeError(f"{type(self).__name__} is no function of inner products or distances: it takes no base kernel")

    def on(self, columns: Sequence[Any] | int | str) -> Kernel:
        """This kernel of some columns of a table: their numbers, or their names in a frame.

        A single column, `k.on(0)`, gives the kernel a sequence of values, such as texts; a list of columns a table.
        """
        from fivefold.kernels.composition import OnColumns

        return OnColumns(self, columns)

    def normalised(self) -> Kernel:
        """k(x, y) / sqrt(k(x, x) k(y, y)): every object has length one."""
        from fivefold.kernels.composition import NormalisedKernel

        return NormalisedKernel(self)

    # --- values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and type(self) is type(other) and _equal(self._values(), other._values())

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.theta.tobytes()))

    def __repr__(self) -> str:
        from fivefold.kernels.expression import expression

        return expression(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("hyperparameter_"):  # scikit-learn's name for what is said of one parameter
            for found in self.hyperparameters:
                if name == f"hyperparameter_{found.name}":
                    return found
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        if name != "theta" and name not in _field_names(type(self)):
            raise AttributeError(f"a kernel is a value: it has no parameter {name!r} to set")
        object.__setattr__(self, name, value)


def as_kernel(thing: Any) -> Kernel:  # a kernel, a number, or a kernel of scikit-learn
    """A kernel of ours: itself, a number as a constant kernel, one of scikit-learn's Gaussian processes translated."""
    from fivefold.kernels.elementary import ConstantKernel

    if isinstance(thing, Kernel):
        return thing
    if _is_term(thing):
        return ConstantKernel(thing)
    name, module = type(thing).__name__, type(thing).__module__
    if module.startswith("sklearn.gaussian_process") and name in KERNELS:
        params = {
            key: [as_kernel(part) for part in value] if key == "kernels" else _translated(value)
            for key, value in thing.get_params(deep=False).items()
        }
        return KERNELS[name](**params)
    raise TypeError(f"{thing!r} is no kernel: give one of fivefold.kernels, a number, or an expression to parse")


def _translated(value: Any) -> Any:
    return as_kernel(value) if type(value).__module__.startswith("sklearn.gaussian_process") else value


def count(X: Objects) -> int:
    """How many objects there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Objects, indices: Indices) -> Objects:
    """Some of the objects, in the order of the indices."""
    if isinstance(X, np.ndarray) or issparse(X):
        return X[indices]
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return [X[i] for i in indices]


def _is_term(thing: object) -> bool:
    return isinstance(thing, Kernel) or (np.isscalar(thing) and not isinstance(thing, str | bytes | complex))


def _equal(mine: object, theirs: object) -> bool:
    if isinstance(mine, Kernel) or callable(mine):
        return mine == theirs
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(_equal(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list | tuple) and any(isinstance(part, Kernel) for part in mine):
        return isinstance(theirs, list | tuple) and len(mine) == len(theirs) and all(map(_equal, mine, theirs))
    return np.array_equal(np.asarray(mine), np.asarray(theirs))


@lru_cache
def _bounded(cls: type[Kernel]) -> tuple[str, ...]:
    """Fields that have bounds, in alphabetical order: that of scikit-learn's theta."""
    names = _field_names(cls)
    return tuple(sorted(name for name in names if f"{name}_bounds" in names))


@lru_cache
def _field_names(cls: type[Kernel]) -> tuple[str, ...]:
    made: Any = cls  # a checker does not see what makes a class a dataclass
    return tuple(f.name for f in fields(made))
