"""The private parts of Numba 0.68: a loop and what it calls are optimised together, once.

Read-only arrays run the code of writable ones.

Nothing else imports them (`_numba.py` decides by Numba's version). For another version, copy this file, adapt it until
tests/laws/test_compile.py passes, and add the copy to `_numba._load_pipeline`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import cpu_target

from fivefold.core.compilation.jit import garbage_collection_off


class _LoopCompiler(Compiler):
    """The compiler of loops that Python calls; no garbage collection meanwhile, as nearly every object made stays."""

    def _compile_core(self) -> Any:  # a record of Numba's, without a type
        with garbage_collection_off():
            result = super()._compile_core()
        for environment in result._find_referenced_environments():  # those of its callees, which nothing else sets
            result.codegen.set_env(environment.env_name, environment)
        return result


class _CalleeCompiler(Compiler):
    """The compiler of loops as others call them: to intermediate code, optimised once, together with the caller.

    Numba itself would make machine code of every callee, and optimise callees again at each level of the calls.
    """

    def _compile_core(self) -> Any:
        self.state.flags.no_compile = True
        self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        result = super()._compile_core()
        result.library.finalize()
        name = result.fndesc.qualname.rsplit(".", 1)[-1]
        entry = make_function(result.fndesc.lookup_module(), name, "", 0, result.environment, (result.library,))
        result.target_context.insert_user_function(entry, result.fndesc, [result.library])
        return result._replace(entry_point=entry)  # Numba asks for a function; it has no address, and nothing calls it


class _CalleeLibrary(JITCodeLibrary):
    """The intermediate code of a loop and of what it calls."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


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
