"""Sparse tables: however they are stored they say the same, are not written to, and are refused where damaged."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import get_tags
from tables import CASES, answers_new_rows, build, fitted, named, outputs, row_question, table

from fivefold.core.admission.sparse import canonical_csr

SPARSE = [case for case in CASES if get_tags(build(case)).input_tags.sparse]
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
DTYPES = (np.float64, np.float32, np.longdouble, np.int8, np.uint8, np.int64, np.uint64, np.bool_)


def thinned(case):
    """A table with zeros in it, and its targets."""
    X, y = table(case)
    return np.where(np.abs(X) < 0.7, 0, X), y


def scrambled(X, kind=sparse.csr_matrix, seed=0):
    """X with every entry stored as two halves, in no order: coordinates, or rows or columns of them."""
    rng = np.random.RandomState(seed)
    whole = sparse.coo_array(X)
    order = rng.permutation(2 * whole.nnz)
    data, (row, column) = np.tile(whole.data / 2, 2)[order], (np.tile(at, 2)[order] for at in whole.coords)
    if kind in (sparse.coo_matrix, sparse.coo_array):
        return kind((data, (row, column)), shape=X.shape)
    major, minor, size = (row, column, X.shape[0]) if "csr" in kind.__name__ else (column, row, X.shape[1])
    order = np.argsort(major, kind="stable")
    pointers = np.concatenate([[0], np.bincount(major, minlength=size).cumsum()])
    return kind((data[order], minor[order], pointers), shape=X.shape)


def state(X):
    """All that an object holds, its cached flags as well."""
    return pickle.dumps(vars(X))


@pytest.mark.parametrize("case", SPARSE, ids=named)
def test_a_matrix_with_duplicates_out_of_order_says_what_the_clean_one_says_and_is_not_written_to(case):
    X, y = thinned(case)
    clean, messy = sparse.csr_matrix(X), scrambled(X)
    before = state(messy)
    expected, model = fitted(case, clean, y), fitted(case, messy, y)
    for asked, other in ((expected, messy), (model, clean), (model, scrambled(X, sparse.csc_array))):
        said, right = outputs(asked, other), outputs(expected, clean)
        for name, value in right.items():
            value, got = (v.item().toarray() if v.dtype == object else v for v in (value, said[name]))
            np.testing.assert_array_equal(got, value, err_msg=name)
    assert state(messy) == before


@pytest.mark.parametrize("case", SPARSE, ids=named)
def test_an_index_outside_the_table_is_refused_by_every_method(case):
    X, y = thinned(case)
    clean, damaged = sparse.csr_matrix(X), sparse.csr_matrix(X)
    damaged.indices[7] = 1_000_000
    with pytest.raises(ValueError, match=r"indices\[7\] = 1000000; indices there run from 0 to 3"):
        fitted(case, damaged, y)
    if not answers_new_rows(case):
        return
    use = row_question(fitted(case, clean, y))
    with pytest.raises(ValueError, match=r"indices\[7\] = 1000000"):
        use(damaged)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("layout", FORMATS)
def test_every_format_and_type_becomes_the_same_canonical_rows(layout, kind, dtype):
    D = np.random.RandomState(0).randint(0, 4, size=(12, 6)).astype(dtype)
    given = getattr(sparse, f"{layout}_{kind}")(D)
    before = state(given)
    X = canonical_csr(given, "X")
    assert X.format == "csr" and X.has_canonical_format and isinstance(X, sparse.sparray) == (kind == "array")
    assert X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(X.toarray(), D)
    assert state(given) == before


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_halves_of_an_entry_are_summed_whatever_flags_the_matrix_carries(kind, index):
    D = np.random.RandomState(0).randint(0, 4, size=(12, 6)).astype(float)
    messy = scrambled(D, kind)
    if messy.format != "coo":
        messy.indices, messy.indptr = messy.indices.astype(index), messy.indptr.astype(index)
        messy.has_sorted_indices = messy.has_canonical_format = True  # which is not so
    before = state(messy)
    np.testing.assert_array_equal(canonical_csr(messy, "X").data, sparse.csr_array(D).data)
    assert state(messy) == before


def test_small_integers_are_summed_as_numbers_and_truth_stays_truth():
    def twice(dtype):
        return sparse.csr_array((np.array([200, 100]).astype(dtype), [1, 1], [0, 2]), shape=(1, 3))

    assert canonical_csr(twice(np.uint8), "X").toarray().tolist() == [[0, 300, 0]]
    assert canonical_csr(twice(np.bool_), "X").toarray().tolist() == [[0, 1, 0]]


def damages():
    """Ways in which the parts of a matrix do not fit, by name: the matrix, and what the refusal says."""

    def with_parts(kind, **parts):
        X = getattr(sparse, f"{kind}_array")(np.arange(12.0).reshape(4, 3) + 1)
        for name, value in parts.items():
            setattr(X, name, value)
        return X

    for kind in ("csr", "csc", "bsr"):
        clean = with_parts(kind)
        for name, at, value in (
            ("indices", 0, -1), ("indices", -1, 99), ("indices", -1, 2**31 - 1), ("indptr", 0, -4), ("indptr", 0, 1),
            ("indptr", -1, 9999), ("indptr", 1, -3), ("indptr", 1, 9999),
        ):  # fmt: skip
            part = getattr(clean, name).copy()
            part[at] = value
            words = {"indices": "indices there run from 0", "indptr": "pointers start at 0|points to 9999"}[name]
            yield f"{kind}-{name}[{at}]={value}", with_parts(kind, **{name: part}), words
        yield f"{kind}-short indptr", with_parts(kind, indptr=clean.indptr[:-1]), "are needed"
        yield f"{kind}-short data", with_parts(kind, data=clean.data[:-1]), "values"
        yield f"{kind}-float indices", with_parts(kind, indices=clean.indices * 1.0), "no vector of integers"
    row, column = sparse.coo_array(np.ones((4, 3))).coords
    yield "coo-outside", with_parts("coo", coords=(row, column + 1)), r"from 0 to 2"
    yield "coo-negative", with_parts("coo", coords=(row - 1, column)), r"from 0 to 3"
    yield "coo-short", with_parts("coo", coords=(row[:-1], column[:-1])), "data of shape"
    lists = with_parts("lil")
    lists.rows[2].append(7)
    yield "lil-long row", lists, "4 columns and 3 values in row 2"
    lists = with_parts("lil")
    lists.rows[2][-1] = 7
    yield "lil-outside", lists, "from 0 to 2"
    yield "dia-short", with_parts("dia", offsets=np.array([0])), "1 offsets"
    keys = with_parts("dok")
    keys._dict[9, 9] = 1.0
    yield "dok-outside", keys, "outside the table"
    yield "coo-vector", sparse.coo_array(np.ones(4)), "no table of rows and columns"
    yield "csr-complex", sparse.csr_array(np.ones((4, 3)) * 1j), "Complex data not supported"


@pytest.mark.parametrize(("damaged", "words"), [pytest.param(X, words, id=name) for name, X, words in damages()])
def test_parts_that_do_not_fit_are_refused_with_what_is_wrong(damaged, words):
    with pytest.raises(ValueError, match=words):
        canonical_csr(damaged, "X")
