"""`python -m fivefold` is the command `fivefold`."""

from fivefold.cli import main

main()
