"""The private parts of Numba 0.68: a loop and what it calls are linked and optimised together, once.

What Numba repeats meanwhile is cut short (`_numba_068_shortcuts.py`). Read-only arrays run the code of writable ones.

Nothing else imports them (`_numba.py` decides by Numba's version). For another version, copy both files, adapt them
until tests/laws/test_compile.py passes, and add the copy to `_numba._load_pipeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llvmlite.binding import Linkage
from numba import types
from numba._dynfunc import make_function
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.cpu_options import FastMathOptions
from numba.core.targetconfig import ConfigStack
from numba.core.types import unliteral

from fivefold.core.compilation._numba_068_shortcuts import shortcuts
from fivefold.core.compilation.jit import garbage_collection_off

_DEFAULT_FLAGS = Flags().values()
FAST_ATTRIBUTES = {"nnan": "no-nans-fp-math", "nsz": "no-signed-zeros-fp-math"}  # of functions, by Numba's flags
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


class _LoopCompiler(Compiler):
    """The compiler of loops that Python calls; no garbage collection meanwhile, as nearly every object made stays."""

    def __init__(self, *given: Any) -> None:
        with garbage_collection_off():  # the first one loads all that Numba can compile
            super().__init__(*given)

    def _compile_core(self) -> Any:  # a record of Numba's, without a type
        self.state.flags = _Flags(self.state.flags)
        self.state.library = _library(_LoopLibrary, self.state)
        self.state.library.enable_object_caching()  # it is kept on disk
        with garbage_collection_off(), shortcuts():
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
        self.state.library = _library(_CalleeLibrary, self.state)
        result = super()._compile_core()
        result.library.finalize()
        name = result.fndesc.qualname.rsplit(".", 1)[-1]
        entry = make_function(result.fndesc.lookup_module(), name, "", 0, result.environment, (result.library,))
        result.target_context.insert_user_function(entry, result.fndesc, [result.library])
        return result._replace(entry_point=entry)  # Numba asks for a function; it has no address, and nothing calls it


class _CalleeLibrary(JITCodeLibrary):
    """The intermediate code of one loop, as it is before any optimisation."""

    attributes: tuple[str, ...] = ()  # of its functions

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            set.update(function.attributes, self.attributes)  # llvmlite's own method does not know them
        super().add_ir_module(ir_module)

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for function in self._final_module.functions:  # several loops may hold it; Numba makes a copy for that
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
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


def _library(kind: type[_CalleeLibrary], state: Any) -> _CalleeLibrary:
    """The library of a loop.

    Numba says of operations that they meet no NaN and no signed zero. Of choices, which maxima are made of, LLVM knows
    it by the attributes of the function: without them no maximum over a row is vectorised.
    """
    library, fast = kind(state.targetctx.codegen(), state.func_id.func_qualname), state.flags.fastmath.flags
    library.attributes = tuple(f'"{name}"="true"' for flag, name in FAST_ATTRIBUTES.items() if flag in fast)
    return library


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


def share_code_for_constants(dispatcher: Any) -> None:
    """Let calls with an integer written in them run the code that is compiled for any integer.

    To Numba each such integer is another type.
    """
    find = dispatcher.get_call_template

    def find_for_any(given: Any, keywords: Any) -> Any:
        return find(
            tuple(unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind for kind in given), keywords
        )

    dispatcher.get_call_template = find_for_any


def keep_forms_per_caller(dispatcher: Any, make: Callable[[], Any], options: Mapping[str, Any]) -> None:
    """Let a callee have a form, by `make`, for each set of options that it takes over from loops that call it.

    Numba tells forms apart by the types of arguments alone, so the caller that is compiled first in a process would
    decide how sums in all others are rounded. What is among its own `options` is not taken over.
    """
    inherited = [flag for option, flag in INHERITED_OPTIONS.items() if option not in options]
    forms = dict[Any, tuple[Any, Any]]()
    own = dispatcher.get_call_template, dispatcher.get_overload

    def form() -> tuple[Any, Any]:
        flags = ConfigStack.top_or_none()
        values = [getattr(flags, name, None) for name in inherited]
        key = tuple(frozenset(value.flags) if isinstance(value, FastMathOptions) else value for value in values)
        if not forms:
            forms[key] = own
        elif key not in forms:
            another = make()
            forms[key] = another.get_call_template, another.get_overload
        return forms[key]

    dispatcher.get_call_template = lambda given, keywords: form()[0](given, keywords)
    dispatcher.get_overload = lambda signature: form()[1](signature)


def writable_type(kind: Any) -> Any:
    """The type of an array, or of a tuple or record with arrays in it, as if they could be written to."""
    if isinstance(kind, types.Array):
        return kind if kind.mutable else kind.copy(readonly=False)
    parts = tuple(map(writable_type, getattr(kind, "types", ())))  # of a tuple or record
    if parts == getattr(kind, "types", ()):
        return kind
    return types.BaseTuple.from_types(parts, getattr(kind, "instance_class", None))


LOOP_OPTIONS: dict[str, Any] = {"pipeline_class": _LoopCompiler, "no_cfunc_wrapper": True}  # no other language calls it
REFERENCE_COUNTING = "_nrt"  # Numba's option
INHERITED_OPTIONS = {"fastmath": "fastmath", "error_model": "error_model", REFERENCE_COUNTING: "nrt"}  # and flags
CALLEE_OPTIONS: dict[str, Any] = {  # Python cannot call it either
    "pipeline_class": _CalleeCompiler,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
