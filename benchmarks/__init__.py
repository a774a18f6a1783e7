"""Time, memory and growth beside rivals, in one run: `python -m benchmarks [NAME ...]`; README.md says more."""
