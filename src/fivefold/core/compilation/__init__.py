"""Compiled loops: jit.py (`jit`, `generic`), code_cache.py (where machine code is kept), _numba.py (what needs
Numba), _numba_068.py, _numba_068_shortcuts.py and _numba_cache.py (its private parts).
"""
