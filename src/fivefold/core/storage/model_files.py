"""Model files: skops, with types that hold data trusted and nothing else.

skops has no registry to join: `load` needs the list of trusted types. Trusted are a dataclass, a NamedTuple or an
estimator that the package defines below its faces, what scikit-learn's estimators are made of, and plain data. A file
is audited by the names in it; nothing of it is built before. Functions are not trusted, unless the caller names them.

Before anything is unpacked the archive is inspected: how much it unpacks to, in all and in proportion, that no two
members share bytes or a name, and that they are packed by a method listed here. Once built, every part that loops read
without checking bounds, such as a tree, is asked whether its arrays fit together (`check_arrays`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from io import BytesIO
from os import SEEK_END, PathLike
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from fivefold.core._sklearn import BaseEstimator
from fivefold.core.registry import FACES
from fivefold.core.storage.array_checks import check_children, check_indices, check_lengths
from fivefold.core.storage.memory_limits import UNPACKED_VARIABLE, format_size, is_set_by_user, max_unpacked
from fivefold.core.types import Sparse

TRUSTED_TYPES = frozenset(  # data and nothing else
    {
        "builtins.frozenset",
        "datetime.datetime",
        "numpy.dtype",
        "numpy.mean",  # a function, which can do nothing but average: how FeatureAgglomeration pools columns
        "numpy.random._pickle.__randomstate_ctor",
        "numpy.random.mtrand.RandomState",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
    }
)
SKLEARN_PART_MODULES = (  # modules whose classes are parts of scikit-learn's fitted estimators
    "sklearn._loss.",
    "sklearn.calibration",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.gaussian_process.",
    "sklearn.metrics._dist_metrics",
    "sklearn.model_selection._split",
    "sklearn.neighbors._",
    "sklearn.neural_network._stochastic_optimizers",
    "sklearn.tree._tree",
)
ADAPTERS = tuple(f"sklearn.externals.array_api_compat.{library}" for library in ("cupy", "dask", "torch"))
SCHEMA_ENTRY = "schema.json"  # the member of an archive that names the classes
ZIP_METHODS = (ZIP_STORED, ZIP_DEFLATED)
ENCRYPTED_FLAG = 1  # bit in the flags of a member
MEMBER_HEADER_BYTES = 30  # of the fixed part of a member's own header
ALWAYS_ALLOWED_BYTES = 100_000_000  # bytes that any file may unpack to
MAX_UNPACKED_RATIO = 100  # unpacked to packed size, for files that unpack to more than ALWAYS_ALLOWED_BYTES
UNTRUSTED_PACKAGES = ("__main__", *FACES)


class UntrustedTypeError(ValueError):
    """A file or a model holds types that are not trusted."""


class SuspectArchiveError(ValueError):
    """An archive that is not unpacked: too large, or not written as model files are."""


def save(model: object, file: str | PathLike[str], also: Collection[str] = ()) -> None:
    """Write a fitted model; one that `load` would refuse raises an error."""
    try:
        _skops().dump(model, file, compression=ZIP_DEFLATED, compresslevel=6)
    except (AttributeError, TypeError, ValueError, NotImplementedError) as error:  # skops has no error of its own
        raise ValueError(f"skops cannot hold this model: {error}") from error
    if foreign := _untrusted(_skops().get_untrusted_types(file=file), also):
        raise UntrustedTypeError(
            f"the model holds types that would not be trusted when it is read: {', '.join(foreign)}"
        )


def load(file: str | PathLike[str], also: Collection[str] = ()) -> Any:  # an estimator of any kind
    """Read a fitted model; a file that holds any other type than those trusted, and those in `also`, is refused."""
    check_archive(file)
    content = _with_new_names(file)
    source = {"file": file} if content is None else {"data": content}
    types = _skops().get_untrusted_types(**source)
    if foreign := _untrusted(types, also):
        raise UntrustedTypeError(
            f"{file} holds types that are not trusted: {', '.join(foreign)}; it was not read. If you made the file "
            "yourself, read it with skops.io.load and its `trusted` argument"
        )
    model = _skops().load(file, trusted=types) if content is None else _skops().loads(content, trusted=types)
    check_parts(model)
    return model


def _with_new_names(file: str | PathLike[str]) -> bytes | None:
    """The archive with classes of earlier versions named as they are today; None where no name is an old one."""
    with ZipFile(file) as archive:
        schema = json.loads(archive.read(SCHEMA_ENTRY))
        ahead, found = [schema], False
        while ahead:
            part = ahead.pop()
            if isinstance(part, dict):
                new = _old_names().get(f"{part.get('__module__')}.{part.get('__class__')}")
                if new is not None:
                    part["__module__"], _, part["__class__"] = new.rpartition(".")
                    found = True
                ahead += part.values()
            elif isinstance(part, list):
                ahead += part
        if not found:
            return None
        content = BytesIO()
        with ZipFile(content, "w") as renamed:
            for member in archive.infolist():
                same = member.filename != SCHEMA_ENTRY
                renamed.writestr(member.filename, archive.read(member) if same else json.dumps(schema))
    return content.getvalue()


@cache
def _old_names() -> dict[str, str]:
    """Full names of stored classes that were moved or renamed since 0.1.0, with those they have now."""
    package = __name__.partition(".")[0]
    lines = Path(__file__).with_name("old_names.tsv").read_text(encoding="utf-8").splitlines()
    return dict([f"{package}.{name}" for name in line.split("\t")] for line in lines)


def check_archive(file: str | PathLike[str]) -> None:
    """Refuse an archive by what its directory says, before a byte of it is unpacked."""
    with ZipFile(file) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.header_offset)
        size, unpacked, limit = _size(archive), sum(member.file_size for member in members), max_unpacked()
        if len({member.filename for member in members}) < len(members):
            raise SuspectArchiveError("two of its members have the same name")
        if bad_members := [
            m.filename for m in members if m.compress_type not in ZIP_METHODS or m.flag_bits & ENCRYPTED_FLAG
        ]:
            raise SuspectArchiveError(f"{bad_members[0]!r} is not packed as model files are")
        ends = [_end(archive, member) for member in members]
        starts = [*(member.header_offset for member in members[1:]), archive.start_dir]
        if any(end > start for end, start in zip(ends, starts, strict=bool(members))):
            raise SuspectArchiveError("its members overlap")
        if unpacked > limit or (
            unpacked > ALWAYS_ALLOWED_BYTES and unpacked > MAX_UNPACKED_RATIO * size and not is_set_by_user()
        ):
            raise SuspectArchiveError(
                f"{format_size(size)} unpack to {format_size(unpacked)}. If that is meant, set {UNPACKED_VARIABLE} to "
                "a size such as "
                f"{format_size(max(2 * unpacked, limit)).replace(' ', '')}"
            )


def _size(archive: ZipFile) -> int:
    """Bytes of the whole archive."""
    file = cast(IO[bytes], archive.fp)
    return int(file.seek(0, SEEK_END))


def _end(archive: ZipFile, member: ZipInfo) -> int:
    """Where the bytes of a member end; its own header, which may differ from the directory, says where they begin."""
    file = cast(IO[bytes], archive.fp)
    file.seek(member.header_offset)
    header = file.read(MEMBER_HEADER_BYTES)
    if len(header) < MEMBER_HEADER_BYTES or not header.startswith(b"PK\3\4"):
        raise SuspectArchiveError(f"{member.filename!r} is not where its directory says")
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return member.header_offset + MEMBER_HEADER_BYTES + name + extra + member.compress_size


def check_parts(model: object) -> None:
    """Ask every part of a model that can tell whether its arrays fit together; ValueError where they do not.

    A part is told how many columns the estimator that holds it was fitted on.
    """
    ahead, seen = [(model, 0)], dict[tuple[int, int], object]()
    while ahead:
        part, columns = ahead.pop()
        if (id(part), columns) in seen:
            continue
        seen[id(part), columns] = part  # kept alive, so that its id is not reused
        kind = type(part)
        if check := getattr(kind, "check_arrays", PART_CHECKS.get(f"{kind.__module__}.{kind.__qualname__}")):
            check(part, columns)
        if isinstance(part, BaseEstimator):
            columns = vars(part).get("n_features_in_", columns)
        ahead += [(inner, columns) for inner in _children(part)]


def _children(part: object) -> Iterable[object]:
    if isinstance(part, Mapping):
        return part.values()
    if isinstance(part, list | tuple | set | frozenset):
        return part
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype == object else ()
    return vars(part).values() if hasattr(part, "__dict__") else ()


def _skops() -> ModuleType:
    try:
        with _adapters_hidden():
            import skops.io
    except ImportError as error:
        raise ImportError('model files need skops: pip install "fivefold[study]"') from error
    return skops.io


@contextmanager
def _adapters_hidden() -> Iterator[None]:
    """Stand-ins for scikit-learn's adapters to other array libraries.

    skops asks scikit-learn for the names of its estimators, which imports all of its packages; the adapters hold no
    estimator, but import PyTorch, Dask and CuPy where they are installed.
    """
    hidden = [name for name in ADAPTERS if name not in sys.modules] if "skops.io" not in sys.modules else []
    for name in hidden:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = []  # a package without modules
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _untrusted(types: Collection[str], also: Collection[str]) -> list[str]:
    return [name for name in types if name not in TRUSTED_TYPES and name not in also and not _is_known(name)]


def _is_known(name: str) -> bool:
    """Is it a class, of fivefold or a part of scikit-learn's estimators, that only holds what was learned?"""
    module, _, cls = name.rpartition(".")
    package, _, below = module.partition(".")
    ours = package == __name__.partition(".")[0] and below.split(".")[0] not in UNTRUSTED_PACKAGES
    if not ours and not module.startswith(SKLEARN_PART_MODULES):
        return False
    try:
        found = getattr(import_module(module), cls, None)
    except ImportError:
        return False
    if not isinstance(found, type) or found.__module__ != module:
        return False
    return not ours or is_dataclass(found) or issubclass(found, tuple | BaseEstimator)


# Classes of other libraries, below, have no types.


def _check_sklearn_tree(tree: Any, columns: int) -> None:
    state = tree.__getstate__()
    nodes = state["nodes"]
    left, right = nodes["left_child"], nodes["right_child"]
    check_children((left, right), len(nodes))
    check_indices("columns", nodes["feature"][left >= 0], min(tree.n_features, columns))
    check_lengths(len(nodes), state["values"])


def _check_predictor(predictor: Any, columns: int) -> None:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    left, right = (np.where(inner, nodes[side].astype(np.int64), -1) for side in ("left", "right"))
    check_children((left, right), len(nodes))
    check_indices("columns", nodes["feature_idx"][inner], columns)
    sets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
    for kept in (predictor.binned_left_cat_bitsets, predictor.raw_left_cat_bitsets):
        check_indices("sets", sets, len(kept))


def _check_sparse(X: Sparse, columns: int) -> None:
    X.check_format(full_check=True)


def _check_ball_tree(tree: Any, columns: int) -> None:
    data, order, nodes = tree.data, np.asarray(tree.idx_array), np.asarray(tree.node_data)
    check_indices("rows", order, len(data))
    check_indices("rows", nodes["idx_start"], len(order) + 1)
    check_indices("rows", nodes["idx_end"], len(order) + 1)
    check_lengths(len(nodes), np.asarray(tree.node_bounds)[0])


PART_CHECKS: Mapping[str, Callable[[Any, int], None]] = {  # classes of other libraries whose loops do not check bounds
    "sklearn.tree._tree.Tree": _check_sklearn_tree,
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": _check_predictor,
    "sklearn.neighbors._ball_tree.BallTree64": _check_ball_tree,
    "sklearn.neighbors._kd_tree.KDTree64": _check_ball_tree,
    "scipy.sparse._csr.csr_matrix": _check_sparse,
    "scipy.sparse._csr.csr_array": _check_sparse,
}
