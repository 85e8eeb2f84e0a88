"""The errors that a user of the library may meet; every one derives from `Error`."""


class Error(Exception):
    """A problem with what was given (a model, an option, an input), told in one message for the person who gave it."""


class ModelError(Error):
    """A model that cannot be read or imported; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: list[str] | str):
        self.problems = [problems] if isinstance(problems, str) else problems
        super().__init__("\n".join(self.problems))


class CompileError(Error):
    """A program that cannot be compiled: it names the source op, what was found and what to do."""


class InputError(Error):
    """Arrays or options given to a compiled program that it cannot run with."""


class RunError(Error):
    """A compiled program that stopped before its end: it names the source op, and what happened."""
