"""The one error that recveil raises on purpose: bad input or impossible settings."""

import difflib
import errno
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from json import JSONDecodeError

# Longer messages are not read, and a message must not hand on the data that it complains about.
# The command line puts "error: " before it, and the line has fewer than 300 characters.
MOST_CHARACTERS = 292
# An address that was made a path has lost a slash.
_WHO = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]+:/{1,2})\S+@")
_PASSWORD = re.compile(r"(\bpassword=)[^&\s'\"]+", re.IGNORECASE)
_WORD = re.compile(r"\S{61,}")


class RecveilError(ValueError):
    """Bad input or settings, in words that its reader can act on.

    A program reads `code`, a person the message, which names the thing, what was expected, what
    came, and what to do. The command line prints it without a traceback and exits with code 2.
    However long what it quotes is, it has fewer than 300 characters: long words are shortened, and
    then its middle, so that the name at its start and the remedy at its end stay. Who stands in an
    address, and with which password, is left out.

    Parameters
    ----------
    message : str
    code : str
        What is wrong, in a word that later versions keep, such as `scale.inferred`. The reference
        lists all codes.

    Examples
    --------
    >>> RecveilError("k is 0; expected 2 or more", code="option.value").code
    'option.value'
    >>> raise RecveilError("k is 0, but a group needs at least one person; give 2 or more")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: k is 0, but a group needs at least one person; give 2 or more
    >>> error = RecveilError(f"ratings.csv: no column {'x' * 1_000_000!r}; rename one")
    >>> print(error)
    ratings.csv: no column 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxx'; rename one
    """

    __module__ = "recveil"

    def __init__(self, message: str = "", *, code: str = "unspecified") -> None:
        super().__init__(within_limit(without_secrets(message)))
        self.code = code


def without_secrets(text: str) -> str:
    """Leave out of a text who stands in an address, and with which password.

    Examples
    --------
    >>> without_secrets("postgresql://ann:secret@host/shop?password=secret: no such file")
    'postgresql://...@host/shop?password=... no such file'
    """
    return _PASSWORD.sub(r"\1...", _WHO.sub(r"\1...@", text))


class MachineError(RecveilError):
    """A fault of the machine, which the data do not decide: a full disk, too little memory.

    Whoever keeps results does not keep this one: after the remedy, all may be well.
    """


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and all that led to it, shown or not.

    Examples
    --------
    >>> try:
    ...     try:
    ...         raise OSError("full")
    ...     except OSError:
    ...         raise RecveilError("not written") from None
    ... except RecveilError as error:
    ...     [type(each).__name__ for each in chain_of(error)]
    ['RecveilError', 'OSError']
    """
    seen: list[BaseException] = []
    left: BaseException | None = error
    while left is not None and left not in seen:
        seen.append(left)
        yield left
        left = left.__cause__ or left.__context__


def is_of_machine(error: BaseException) -> bool:
    """Say whether an error is the machine's: of its disk, its memory or its files.

    Examples
    --------
    >>> is_of_machine(MemoryError()), is_of_machine(RecveilError("k is 0"))
    (True, False)
    """
    return any(isinstance(each, MachineError | MemoryError | OSError) for each in chain_of(error))


def lacks_files(error: BaseException) -> bool:
    """Say whether an error, or what led to it, is that no more files may be open.

    Examples
    --------
    >>> lacks_files(OSError(errno.EMFILE, "Too many open files")), lacks_files(OSError())
    (True, False)
    """
    full = (errno.EMFILE, errno.ENFILE)
    return any(
        isinstance(each, OSError) and (each.errno in full or "Too many open files" in str(each))
        for each in chain_of(error)
    )


def too_few_files() -> str:
    """Say that too few files may be open, and what to do."""
    most = ""
    if sys.platform != "win32":
        import resource

        most = f" ({resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,}, ulimit -n)"
    return (
        f"too few files may be open at once{most}: raise that limit (ulimit -n 1024), or close "
        f"other programs, and run again"
    )


def reject_interruption(error: BaseException) -> None:
    """Raise the KeyboardInterrupt of which an error tells in other words.

    If Ctrl-C comes while a compiled kernel runs, it comes out as a SystemError: "returned a result
    with an exception set".

    Examples
    --------
    >>> reject_interruption(RecveilError("k is 0"))
    """
    for each in chain_of(error):
        if isinstance(each, KeyboardInterrupt):
            raise each


def within_limit(message: str) -> str:
    """Shorten a message that is too long for a line: its long words first, then its middle."""
    if len(message) <= MOST_CHARACTERS:
        return message
    message = _WORD.sub(lambda word: shortened(word[0]), message)
    return shortened(message, MOST_CHARACTERS)


def shortened(text: str, most: int = 60) -> str:
    """Leave out the middle of a long text.

    Parameters
    ----------
    text : str
    most : int
        So many characters are left at most; at least 9.

    Examples
    --------
    >>> shortened("abcdefghijklmnopqrstuvwxyz", most=13)
    'abcdef...wxyz'
    """
    if len(text) <= most:
        return text
    end = (most - 3) * 2 // 5
    return f"{text[: most - 3 - end]}...{text[-end:]}"


def printable(text: str) -> str:
    r"""Write what a terminal would obey, or hide, as Python does: control and direction marks.

    Parameters
    ----------
    text : str
        One line: a line break is written out, too.

    Examples
    --------
    >>> print(printable("ann\x1b[2J \u202ebob"))
    ann\x1b[2J \u202ebob
    """
    if text.isprintable():
        return text
    # Bytes of a name that is no UTF-8 are written as they came.
    return "".join(
        each if each.isprintable() or "\udc80" <= each <= "\udcff" else repr(each)[1:-1]
        for each in text
    )


def quoted(value: object, most: int = 60) -> str:
    """Quote what somebody's data hold, as Python writes it, but never more than a line of it.

    Examples
    --------
    >>> quoted("ann"), quoted(7)
    ("'ann'", '7')
    >>> len(quoted("ann" * 1_000_000))
    60
    """
    return shortened(repr(value), most)


def describe_count(number: int, one: str, many: str = "") -> str:
    """Format a number and what it counts.

    Examples
    --------
    >>> describe_count(1, "user"), describe_count(2_000, "user"), describe_count(0, "user")
    ('1 user', '2,000 users', '0 users')
    >>> describe_count(1, "person", "people")
    '1 person'
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(values: Iterable[object], most: int = 100) -> str:
    """Quote several values between commas; those beyond `most` characters are counted.

    Examples
    --------
    >>> listed(["user", "item"])
    "'user', 'item'"
    >>> listed(range(1_000), most=10)
    '0, 1, 2 and 997 more'
    """
    words: list[str] = []
    length, left = 0, 0
    for value in values:
        word = quoted(value, 40)
        length += len(word) + 2
        if left or (words and length > most):
            left += 1
        else:
            words.append(word)
    return ", ".join(words) + (f" and {left:,} more" if left else "")


def meant(name: str, known: Iterable[str]) -> str:
    """Ask whether a known name was meant that is much like another one; "" if none is.

    Examples
    --------
    >>> meant("sprase", ["simple", "sparse"])
    ' (did you mean sparse?)'
    >>> meant("7", ["simple", "sparse"])
    ''
    """
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def unknown(what: str, name: str, known: Collection[str]) -> RecveilError:
    """Return the error over a name that is none of the known ones.

    Examples
    --------
    >>> unknown("method", "sprase", ["simple", "sparse"])
    RecveilError("method 'sprase' (did you mean sparse?): expected one of 'simple', 'sparse'")
    """
    expected = f"expected one of {listed(known, 150)}"
    return RecveilError(f"{what} {name!r}{meant(name, known)}: {expected}", code="option.value")


def named_twice(names: Iterable[str]) -> list[str]:
    """Return the names that stand more than once, in the order in which they come first.

    Each is looked at once: a header of hundreds of thousands of names takes no time.

    Examples
    --------
    >>> named_twice(["user", "tag", "item", "tag", "user"])
    ['user', 'tag']
    """
    return [name for name, times in Counter(names).items() if times > 1]


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
        super().__init__(message, code="column.order")
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
        return f"it lacks {shortened(str(error))}"
    if isinstance(error, TypeError | AttributeError):
        return "a part of it is missing, or of another kind than expected"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "there is no such file"
    return (isinstance(error, OSError) and error.strerror) or first_line_of(error)


def first_line_of(error: Exception) -> str:
    r"""Return the first line of what a library says, shortened; its class if it says nothing.

    Examples
    --------
    >>> first_line_of(ValueError("bad magic number\nat byte 0"))
    'bad magic number'
    """
    return shortened(str(error).strip().partition("\n")[0], 80) or type(error).__name__
