"""The private parts of Numba 0.68: a loop and what it calls are linked and optimised together, once.

Meanwhile Numba remembers the types it has found. Read-only arrays run the code of writable ones.

Nothing else imports them (`_numba.py` decides by Numba's version). For another version, copy this file, adapt it until
tests/laws/test_compile.py passes, and add the copy to `_numba._load_pipeline`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba._dynfunc import make_function
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack

from fivefold.core.compilation.jit import garbage_collection_off

_DEFAULT_FLAGS = Flags().values()
_HASH_OF_FLAGS = hash(Flags())  # Numba's own does not depend on their values


class _Flags(Flags):
    """Numba looks functions up by the flags of their caller, and would read every one of them each time."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Flags):
            return self is other
        return bool(_DEFAULT_FLAGS | self._values == _DEFAULT_FLAGS | other._values)

    def __hash__(self) -> int:
        return _HASH_OF_FLAGS


@contextmanager
def _types_remembered() -> Iterator[None]:
    """Find the type of each operation once per loop; Numba asks for it several times per line."""
    kind: Any = types.BaseFunction
    find, found = kind.get_call_type, dict[Any, Any]()

    def remember(function: Any, context: Any, args: Any, keywords: Any) -> Any:
        if keywords:
            return find(function, context, args, keywords)
        key = id(function), tuple(args), ConfigStack.top_or_none()
        if key not in found:
            found[key] = find(function, context, args, keywords), function  # which keeps its id from being used again
        return found[key][0]

    with global_compiler_lock:
        kind.get_call_type = remember
        try:
            yield
        finally:
            kind.get_call_type = find


class _LoopCompiler(Compiler):
    """The compiler of loops that Python calls; no garbage collection meanwhile, as nearly every object made stays."""

    def _compile_core(self) -> Any:  # a record of Numba's, without a type
        self.state.flags = _Flags(self.state.flags)
        self.state.library = _LoopLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()  # it is kept on disk
        with garbage_collection_off(), _types_remembered():
            result = super()._compile_core()
        for environment in result._find_referenced_environments():  # those of its callees, which nothing else sets
            result.codegen.set_env(environment.env_name, environment)
        return result


class _CalleeCompiler(Compiler):
    """The compiler of loops as others call them: to intermediate code, optimised once, together with the caller.

    Numba itself would make machine code of every callee, and link and optimise callees at each level of the calls.
    """

    def _compile_core(self) -> Any:
        self.state.flags = _Flags(self.state.flags)
        self.state.flags.no_compile = True
        self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        result = super()._compile_core()
        result.library.finalize()
        name = result.fndesc.qualname.rsplit(".", 1)[-1]
        entry = make_function(result.fndesc.lookup_module(), name, "", 0, result.environment, (result.library,))
        result.target_context.insert_user_function(entry, result.fndesc, [result.library])
        return result._replace(entry_point=entry)  # Numba asks for a function; it has no address, and nothing calls it


class _CalleeLibrary(JITCodeLibrary):
    """The intermediate code of one loop, as it is before any optimisation."""

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True


class _LoopLibrary(_CalleeLibrary):
    """The code of a loop that Python calls, and of all that it calls."""

    def finalize(self) -> None:
        self._linking_libraries = _all_callees(self._linking_libraries)
        JITCodeLibrary.finalize(self)

    def _optimize_final_module(self) -> None:
        if any(function.name.startswith("NRT_") for function in self._final_module.functions):
            super()._optimize_final_module()
        else:  # no references are counted: Numba's first round, which is for them, has nothing to do
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)


def _all_callees(libraries: Iterable[CodeLibrary]) -> list[CodeLibrary]:
    """These libraries and what they call, each once."""
    found = dict.fromkeys(libraries)
    ahead = list(found)
    while ahead:
        if isinstance(library := ahead.pop(), _CalleeLibrary):  # others hold what they call
            more = [callee for callee in library._linking_libraries if callee not in found]
            found |= dict.fromkeys(more)
            ahead += more
    return list(found)


def share_code_for_read_only(dispatcher: Any) -> None:
    """Let read-only arrays run the code that was compiled for writable ones.

    To Numba a read-only array is another type. Frames and joblib's memory maps give such arrays, and each loop would be
    compiled twice for them.
    """
    compile_for_types = dispatcher.compile

    def compile_once(signature: Any) -> Any:
        given = tuple(signature)
        entry = compile_for_types(writable := tuple(map(writable_type, given)))
        if writable != given:
            dispatcher._insert([kind._code for kind in given], entry, False)
        return entry

    dispatcher.compile = compile_once


def writable_type(kind: Any) -> Any:
    """The type of an array, or of a tuple or record with arrays in it, as if they could be written to."""
    if isinstance(kind, types.Array):
        return kind if kind.mutable else kind.copy(readonly=False)
    parts = tuple(map(writable_type, getattr(kind, "types", ())))  # of a tuple or record
    if parts == getattr(kind, "types", ()):
        return kind
    return types.BaseTuple.from_types(parts, getattr(kind, "instance_class", None))


LOOP_OPTIONS: dict[str, Any] = {"pipeline_class": _LoopCompiler, "no_cfunc_wrapper": True}  # no other language calls it
CALLEE_OPTIONS: dict[str, Any] = {  # Python cannot call it either
    "pipeline_class": _CalleeCompiler,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
WITHOUT_REFERENCE_COUNTING: dict[str, Any] = {"_nrt": False}  # for loops that make no array

cpu_target.target_context.refresh()  # what the first call would do: here while no garbage is collected
