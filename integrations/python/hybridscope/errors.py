"""What the package raises: the program's errors, with the program's messages."""


class Error(Exception):
    """Any error of hybridscope. str() says what, where, the numbers and what was expected."""


class InvalidInput(Error):
    """A scenario, setting, trace or name that breaks a rule."""


class NotFound(Error):
    """No such file, session, step, engine or finding."""


class Corrupt(Error):
    """Damaged input: no JSON, a broken database, a truncated stream."""


class InputOutput(Error):
    """A file that cannot be read or written."""


class Device(Error):
    """A GPU that cannot be used or was lost."""


class NotAvailable(Error):
    """Something that this machine or this build lacks."""


class Bug(Error):
    """A contract inside hybridscope was violated: please report it."""
