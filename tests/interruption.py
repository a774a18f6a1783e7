"""A callback that interrupts a fit, as Ctrl-C does."""


class PressCtrlC:
    """Interrupts the fit when the given number of its steps has ended."""

    def __init__(self, after):
        self.after, self.steps = after, 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **data):
        pass

    def on_fit_task_end(self, estimator, context, **data):
        if context.parent is not None:
            self.steps += 1
            if self.steps == self.after:
                raise KeyboardInterrupt

    def teardown(self, estimator, context):
        pass
