"""Compiled loop for classifiers that are Bayesian networks: one look-up per family and row, for all classes at once."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def add_family_logs(codes, columns, strides, levels, logs, lo, out):
    """out[i] += the row of `logs` that the codes of the columns name, for rows lo, lo + 1, ... of the table.

    A row in which one of the columns is missing, with a code beyond its levels, gets nothing.
    """
    n, K = out.shape
    k = len(columns)
    for i in range(n):
        place, known = 0, True
        for a in range(k):
            code = codes[columns[a], lo + i]
            known = known and code < levels[a]
            place += strides[a] * code
        if known:
            for c in range(K):
                out[i, c] += logs[place, c]
