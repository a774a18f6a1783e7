"""`fivefold doctor`: what is installed, the machine, what is compiled, and whether everything works.

Plain text, so that it works without the packages of the `study` extra.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

import fivefold
from fivefold.cli import loop_cache

if TYPE_CHECKING:
    from fivefold.core.compilation._numba import CompilationMode

BASE_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "joblib", "threadpoolctl")
EXTRA_PACKAGES = {
    "study": ("typer", "rich", "polars", "matplotlib", "jinja2", "markupsafe", "skops"),
    "neural": ("torch",),
    "cluster": ("dask", "distributed"),
    "lab": ("panel",),
}


@dataclass(frozen=True)
class Findings:
    """What the doctor finds."""

    versions: dict[str, str]
    extras: dict[str, dict[str, str | None]]  # extra -> package -> version, None if absent
    threads: dict[str, Any]
    devices: tuple[str, ...]
    compiler: CompilationMode
    cache: loop_cache.CacheState
    broken: dict[str, str]  # modules of the package that do not import, and why

    @property
    def healthy(self) -> bool:
        """Do all modules of the package import?"""
        return not self.broken


def examine() -> Findings:
    """Examine the installation and the machine."""
    from fivefold.core.compilation._numba import compilation_mode

    broken = loop_cache.import_all_modules()
    ours = {"fivefold": fivefold.__version__, "python": f"{platform.python_version()} ({platform.machine()})"}
    return Findings(
        versions=ours | {name: version(name) for name in BASE_PACKAGES},
        extras={extra: {name: _version(name) for name in names} for extra, names in EXTRA_PACKAGES.items()},
        threads=_threads(),
        devices=tuple(find_devices()),
        compiler=compilation_mode(),
        cache=loop_cache.read_cache_state(),
        broken=broken,
    )


def findings_text(found: Findings) -> str:
    """The findings as lines of text, the verdict last."""
    rows = [("versions", ", ".join(f"{name} {number}" for name, number in found.versions.items()))]
    for extra, packages in found.extras.items():
        there = ", ".join(f"{name} {number}" for name, number in packages.items() if number)
        absent = ", ".join(name for name, number in packages.items() if not number)
        cure = f'missing {absent}: pip install "fivefold[{extra}]"' if absent else ""
        rows.append((f"extra {extra}", "; ".join(filter(None, (there, cure)))))
    rows.append(("threads", f"{found.threads['fivefold']} for our loops; {found.threads['blas']}"))
    rows += [("device", device) for device in found.devices]
    rows += [("" if i else "compiler", row) for i, row in enumerate(_compiler_rows(found.compiler))]
    rows += _cache_rows(found.cache)
    rows += [("broken", f"{module}: {reason}") for module, reason in found.broken.items()]
    indent = max(len(name) for name, _ in rows) + 2
    width = get_terminal_size().columns
    return "\n".join([*(_fold_row(name, text, indent, width) for name, text in rows), "", verdict(found)])


def verdict(found: Findings) -> str:
    """One line: does everything work, and if not, what to do."""
    ready, whole = len(found.cache.kernels) - len(found.cache.absent), len(found.cache.kernels)
    if not found.healthy:
        return "Not well: modules cannot be imported, as said above; reinstall: pip install --force-reinstall fivefold"
    if found.cache.folder is None:
        return "Works, but no folder for compiled code is writable: set FIVEFOLD_CACHE_DIR to one of your own."
    if found.cache.refused:
        return "Works, but a folder for compiled code is not used, as said above; correct it, or remove it."
    if found.cache.damaged:
        files = len(found.cache.damaged)
        return f"Works, but {files} files of compiled code are damaged: what they held is compiled again when used."
    if found.cache.absent:
        return f"All well. {ready} of {whole} loops are compiled; `fivefold warm` compiles the rest ahead of time."
    return f"All well, and all {whole} loops are compiled."


def _fold_row(name: str, text: str, indent: int, width: int) -> str:
    """A row whose long text is wrapped in its column; paths are not broken."""
    return fill(
        text,
        width,
        initial_indent=f"{name:<{indent}}",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _compiler_rows(mode: CompilationMode) -> list[str]:
    if mode.pipeline == "fivefold":
        rows = [f"Numba {mode.numba}, in fivefold's way: a loop and what it calls are optimised together"]
    else:
        rows = [f"Numba {mode.numba}, in its own way (slower first calls): {mode.why_not_fivefold}"]
    return rows + ([f"no compiled code is kept on disk: {mode.why_no_cache}"] if mode.why_no_cache else [])


def _cache_rows(state: loop_cache.CacheState) -> list[tuple[str, str]]:
    ready = len(state.kernels) - len(state.absent)
    where = [*(f"{folder} (read-only)" for folder in state.read_only), *([str(state.folder)] if state.folder else [])]
    rows = [*state.refused, *where]
    if state.folder is None:
        rows.append("no writable folder: missing loops are compiled in every process")
    rows.append(f"{state.files} files, {state.bytes / 1e6:.1f} MB; {ready} of {len(state.kernels)} loops compiled")
    rows += [f"{path} is damaged and not read" for path in state.damaged]
    return [("" if i else "cache", row) for i, row in enumerate(rows)]


def _threads() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    from fivefold.core.parallel import threads

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = ", ".join(sorted({f"{p['internal_api']} {p['version']} on {p['num_threads']} threads" for p in pools}))
    return {"fivefold": threads(), "blas": blas or "no BLAS library found"}


def find_devices() -> list[str]:
    """Accelerators, or why there is none."""
    if find_spec("torch") is None:
        return ['CPU only: torch is not installed (pip install "fivefold[neural]")']
    import torch

    if torch.cuda.is_available():
        names = (torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count()))
        return [f"cuda:{i} {p.name}, {p.total_memory / 2**30:.0f} GiB" for i, p in enumerate(names)]
    if torch.version.cuda is None:
        return [f"CPU only: torch {torch.__version__} is built without CUDA"]
    return [f"CPU only: torch {torch.__version__} is built for CUDA {torch.version.cuda}, but no such device is found"]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
