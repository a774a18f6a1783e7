"""Time, memory and growth beside rivals, in one run: `python -m benchmarks [NAME ...]`. See README.md in this folder."""
