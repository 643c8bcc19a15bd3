"""The one error that recveil raises on purpose: bad input or impossible settings."""

from json import JSONDecodeError


class RecveilError(ValueError):
    """Bad input or settings, in words that its reader can act on.

    The message names the thing, what was expected, what came, and what to do. The command line
    prints it without a traceback and exits with code 2.

    Examples
    --------
    >>> raise RecveilError("k is 0, but a group needs at least one person; give --k 2 or more")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: k is 0, but a group needs at least one person; give --k 2 or more
    """


class UnknownOrderError(RecveilError):
    """Nothing tells which column holds the users, and a wrong guess would publish people.

    Parameters
    ----------
    message : str
    facts : sequence of str
        What there is to see, for the owner alone: it shows values.
    choices : sequence of dict of str to str
        What to give as `user` and `item`, the likelier first.
    """

    def __init__(self, message: str, facts: list[str], choices: list[dict[str, str]]) -> None:
        super().__init__(message)
        self.facts = facts
        self.choices = choices


def reason_of(error: Exception) -> str:
    """Say in plain words why a file of JSON, such as release.json, cannot be used.

    Parameters
    ----------
    error : Exception
        What was raised while the file was read, or while something was looked up in it.

    Examples
    --------
    >>> reason_of(KeyError("k"))
    "it lacks 'k'"
    >>> reason_of(FileNotFoundError(2, "No such file or directory"))
    'there is no such file'
    """
    if isinstance(error, JSONDecodeError):
        return f"it is no JSON, or cut short, at line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "it is no UTF-8 text"
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, TypeError | AttributeError):
        return "a part of it is missing, or of another kind than expected"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "there is no such file"
    return (isinstance(error, OSError) and error.strerror) or str(error)
