"""One module per command of `fivefold`; `methods` also serves `describe`. `cli.app` registers them."""
