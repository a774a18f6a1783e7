"""What Numba 0.68 does again and again while it compiles a loop, done once, in less time or not at all: the code that
it makes is the same.

For another version of Numba, copy this file together with `_numba_068.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import ir, transforms, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import ConfigStack
from numba.extending import overload

WITHOUT_VARIABLES = frozenset(  # kinds of what statements hold
    {ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg, type(ir.UNDEFINED), str, int, bool, type(None), type(len)}
)

_post_process: Callable[..., None] = PostProcessor.run

# what Numba hands over has no types


@contextmanager
def shortcuts() -> Iterator[None]:
    """Nobody else compiles meanwhile."""
    from numba.np import arrayobj  # with what it imports, only where something is compiled

    with global_compiler_lock:
        replacements: tuple[tuple[Any, str, Any], ...] = (
            (types.BaseFunction, "get_call_type", _remembered(types.BaseFunction.get_call_type)),
            (ir.Stmt, "list_vars", _statement_variables),
            (ir.Expr, "list_vars", _expression_variables),
            (PostProcessor, "run", _post_process_where_needed),
            (arrayobj, "raise_with_shape_context", _raise_for_sizes),
        )
        own = [getattr(owner, name) for owner, name, _ in replacements]
        for owner, name, replacement in replacements:
            setattr(owner, name, replacement)
        try:
            yield
        finally:
            for (owner, name, _), function in zip(replacements, own, strict=True):
                setattr(owner, name, function)


def _remembered(find: Any) -> Any:
    """The type of each operation is found once per loop; Numba asks for it several times per line."""
    found = dict[Any, Any]()

    def remember(function: Any, context: Any, args: Any, keywords: Any) -> Any:
        if keywords:
            return find(function, context, args, keywords)
        key = id(function), tuple(args), ConfigStack.top_or_none()
        if key not in found:
            found[key] = find(function, context, args, keywords), function  # which keeps its id from being used again
        return found[key][0]

    return remember


def _statement_variables(statement: Any) -> list[Any]:
    """The variables of a statement; Numba's own way makes a list for each of its parts."""
    return _add_variables(statement.__dict__.values(), [])


def _expression_variables(expression: Any) -> list[Any]:
    return _add_variables(expression._kws.values(), [])


def _add_variables(values: Any, found: list[Any]) -> list[Any]:
    for value in values:
        kind = type(value)
        if kind is ir.Var:
            found.append(value)
        elif kind is ir.Expr:
            _add_variables(value._kws.values(), found)
        elif isinstance(value, list | tuple):
            _add_variables(value, found)
        elif isinstance(value, dict):
            _add_variables(value.values(), found)
        elif kind not in WITHOUT_VARIABLES and isinstance(value, ir.Inst):
            found += value.list_vars()
    return found


def _post_process_where_needed(process: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Find where variables live when something asks for it.

    Numba finds it after each of its passes, most of which ask nothing.
    """
    code = process.func_ir
    if emit_dels or code.is_generator:
        _post_process(process, emit_dels, extend_lifetimes)
    else:
        code.blocks = transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime, code.generator_info = VariableLifetime(code.blocks), None


def _raise_for_sizes(given: Any, wanted: Any) -> None:
    """Refuse an assignment to a part of an array of another size.

    Numba's own message holds the sizes: to write them takes longer to compile than most loops.
    """


@overload(_raise_for_sizes)
def _(given: Any, wanted: Any) -> Any:
    def refuse(given: Any, wanted: Any) -> None:
        raise ValueError("cannot assign an array of another size to a part of an array")

    return refuse
