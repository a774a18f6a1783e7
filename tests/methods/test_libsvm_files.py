"""Machines in LIBSVM's model files, and tables in its data files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.svm import SVC as RivalSVC

from fivefold.optim.constrained.quadratic_program import solve_qp
from fivefold.study.tables.files import read_table
from fivefold.study.tables.table import BadInput
from fivefold.svm import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, read_libsvm_model, write_libsvm_model

rng = np.random.default_rng(16)
X = rng.normal(size=(90, 4))
CLASSES = np.array([-3, 5, 7])[(X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int) + (X[:, 1] > 0.5)]
TWO = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0, 4, -2)
VALUE = X[:, 0] + np.sin(X[:, 1])
CASES = {
    "SVC": (SVC(probability=True, random_state=0), CLASSES),
    "two classes": (SVC(kernel="poly", degree=2, coef0=1.0), TWO),
    "NuSVC": (NuSVC(kernel="sigmoid", gamma=0.01, nu=0.3), CLASSES),
    "SVR": (SVR(C=3.0), VALUE),
    "NuSVR": (NuSVR(kernel="linear"), VALUE),
    "OneClassSVM": (OneClassSVM(nu=0.2), None),
}


@pytest.mark.parametrize("name", CASES)
def test_a_machine_comes_back_with_the_same_answers(name, tmp_path):
    model, y = CASES[name]
    model.fit(X, y)
    write_libsvm_model(model, tmp_path / "m")
    again = read_libsvm_model(tmp_path / "m")
    assert type(again) is type(model)
    assert_array_equal(again.predict(X), model.predict(X))
    answers = "predict" if isinstance(model, (SVR, NuSVR)) else "decision_function"
    assert_allclose(getattr(again, answers)(X), getattr(model, answers)(X), rtol=1e-12, atol=1e-12)
    if name == "SVC":
        assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    write_libsvm_model(again, tmp_path / "n")
    assert (tmp_path / "n").read_text() == (tmp_path / "m").read_text()


def test_every_back_end_has_the_same_objective_and_the_file_the_same_machine(tmp_path):
    """A-135: our descent, a solver of quadratic programs, and LIBSVM inside scikit-learn."""
    sign, K = np.where(TWO > 0, 1.0, -1.0), np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2))
    ours = SVC(gamma=0.3, C=2.0, tol=1e-8).fit(X, TWO)
    theirs = RivalSVC(gamma=0.3, C=2.0, tol=1e-8, random_state=0).fit(X, TWO)
    program = solve_qp(np.outer(sign, sign) * K, -np.ones(90), sign[None], np.zeros(1), None, None, 0.0, 2.0)

    def objective(multipliers):
        b = sign * multipliers
        return 0.5 * b @ K @ b - multipliers.sum()

    values = [objective(program.x)]
    for machine in (ours, theirs):
        alpha = np.zeros(90)
        alpha[machine.support_] = np.abs(machine.dual_coef_[0])
        values.append(objective(alpha))
    assert_allclose(values, values[0], rtol=1e-6)
    write_libsvm_model(ours, tmp_path / "m")
    assert_array_equal(read_libsvm_model(tmp_path / "m").dual_coef_, ours.dual_coef_)


def test_sparse_vectors_and_numbers_of_rows_are_written(tmp_path):
    S = csr_array(np.where(X > 0.3, X, 0.0))
    model = SVC(kernel="linear").fit(S, TWO)
    write_libsvm_model(model, tmp_path / "m")
    assert_allclose(
        read_libsvm_model(tmp_path / "m", n_features=4).decision_function(S.toarray()),
        model.decision_function(S),
        rtol=1e-12,
        atol=1e-12,
    )
    K = X @ X.T
    machine = SVC(kernel="precomputed").fit(K, TWO)
    write_libsvm_model(machine, tmp_path / "k")
    assert_allclose(read_libsvm_model(tmp_path / "k", n_features=90).decision_function(K), machine.decision_function(K))


def test_classes_in_any_order_of_the_file_answer_the_same(tmp_path):
    """LIBSVM writes labels in the order in which its data held them."""
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0.5 -0.25 0.125\nlabel 9 1 4\n"
        "probA -1 -2 -3\nprobB 0.1 0.2 0.3\nnr_sv 1 1 1\nSV\n0.5 0.25 1:1 2:0\n"
        "-0.5 0.75 1:0 2:2\n-0.25 -0.75 1:-1 2:1\n"
    )
    (tmp_path / "m").write_text(text)
    model = read_libsvm_model(tmp_path / "m")
    assert_array_equal(model.classes_, [1, 4, 9])
    a, b, c = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])  # of the classes 9, 1, 4
    G = np.column_stack(
        [
            0.5 * X[:, :2] @ a - 0.5 * X[:, :2] @ b - 0.5,
            0.25 * X[:, :2] @ (a - c) + 0.25,
            0.75 * X[:, :2] @ (b - c) - 0.125,
        ]
    )  # 9 against 1, 9 against 4, 1 against 4
    model.decision_function_shape = "ovo"
    assert_allclose(model.decision_function(X[:, :2]), np.column_stack([G[:, 2], -G[:, 0], -G[:, 1]]), atol=1e-14)
    assert_allclose(model.probA_, [-3, -1, -2])
    assert_allclose(model.probB_, [0.3, -0.1, -0.2])


def test_what_is_no_model_and_what_libsvm_cannot_hold_is_said(tmp_path):
    fitted = SVC().fit(X, np.array(["a", "b"])[(X[:, 0] > 0).astype(int)])
    with pytest.raises(ValueError, match="labels are whole numbers; the classes are 'a', 'b'"):
        write_libsvm_model(fitted, tmp_path / "m")
    with pytest.raises(ValueError, match="LIBSVM has no SVDD"):
        write_libsvm_model(SVDD().fit(X), tmp_path / "m")
    with pytest.raises(ValueError, match="whose kernel is a function"):
        write_libsvm_model(SVC(kernel=lambda a, b: a @ b.T).fit(X, TWO), tmp_path / "m")
    for text, said in (
        ("hello", "no line says SV"),
        ("svm_type c_svc\nSV\n", "no line says kernel_type"),
        ("svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nSV\n1 1:2\n", "1 support vectors follow"),
    ):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(ValueError, match=said):
            read_libsvm_model(tmp_path / "bad")


@pytest.mark.parametrize("name", ["data.libsvm", "a9a"])
def test_data_files_are_tables_of_a_study(name, tmp_path):
    S = np.where(X > 0.3, X, 0.0)
    S[0, -1] = 1.0
    dump_svmlight_file(S, TWO, str(tmp_path / name), zero_based=False, comment="two classes")
    table = read_table(tmp_path / name)
    assert table.frame.columns == ["label", "x1", "x2", "x3", "x4"]
    assert_array_equal(table.frame["label"].to_numpy(), TWO)
    again, _ = load_svmlight_file(str(tmp_path / name))
    assert_allclose(table.frame.drop("label").to_numpy(), again.toarray(), rtol=1e-15)
    assert_allclose(table.frame.drop("label").to_numpy(), S, rtol=1e-15)  # the numbers have all their digits
    first = (
        (tmp_path / name)
        .read_text()
        .split("\n")
        .index(next(r for r in (tmp_path / name).read_text().split("\n") if r[:1] != "#"))
    )
    assert table.at[0] == first + 1 and table.unit == "line"


def test_a_data_file_that_is_none_is_refused_with_its_form(tmp_path):
    (tmp_path / "x.libsvm").write_text("1 2:3 1:4\nhello\n")
    with pytest.raises(BadInput, match="label index:value"):
        read_table(tmp_path / "x.libsvm")
    (tmp_path / "y.libsvm").write_text("1 1:3 999999999:4\n")
    with pytest.raises(BadInput):
        read_table(tmp_path / "y.libsvm")


# svm-train -s 0 -t 2 -g 0.5 of LIBSVM 3.37 on ROWS with the labels 1 1 -1 3 -1 3 -1 1, and what svm-predict answers
ROWS = [[0.13, -0.13, 0.64], [0.1, -0.54, 0.36], [1.3, 0.95, -0.7], [-1.27, -0.62, 0.04]]
LIBSVM_MODEL = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 8
rho 0.25701794926143218 -0.12971408517407812 -0.41169086049419085
label 1 -1 3
nr_sv 3 3 2
SV
1 0.48474151440683338 1:0.13 2:-0.13 3:0.64
0.23937214393917383 1 1:0.1 2:-0.54 3:0.36
0.96844823363753951 0.35291364379454271 1:1.37 2:-0.67 3:0.35
-0.45933232773227589 0.28008969421303892 1:1.3 2:0.95 3:-0.7
-0.74848804984443762 0.95427294565054188 1:-2.33 2:-0.22 3:-1.25
-1 0.61716086522184221 1:0.41 2:1.04 3:-0.13
-0.83765515820137604 -0.90943496524356637 1:-1.27 2:-0.62 3:0.04
-1 -0.94208853984185648 1:-0.73 2:-0.54 3:-0.32
"""
LIBSVM_ANSWERS = np.array(  # 1 against -1, 1 against 3, -1 against 3
    [
        [0.9072520421919055, 1.0001374903799054, 0.04377064010495141],
        [0.999914147069191, 0.84156816550931, -0.2667471080930293],
        [-1.000085835520736, 0.2854969819013919, 0.9997640578321365],
        [-0.09782165447343491, -0.999862466531098, -1.0002359036563644],
    ]
)


def test_a_model_of_libsvm_answers_as_its_own_tools_do(tmp_path):
    (tmp_path / "m").write_text(LIBSVM_MODEL)
    model = read_libsvm_model(tmp_path / "m")
    assert_array_equal(model.predict(ROWS), [1, 1, -1, 3])
    model.decision_function_shape = "ovo"
    expected = LIBSVM_ANSWERS * [-1.0, 1.0, 1.0]  # here -1 against 1, -1 against 3, 1 against 3
    assert_allclose(model.decision_function(ROWS), expected[:, [0, 2, 1]], rtol=1e-12)
