"""Errors for bad input or settings, and helpers that format their messages."""

import difflib
import errno
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
from inspect import signature
from json import JSONDecodeError
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Longer messages are not read, and a message must not pass on the data that it complains about.
# With the command line's prefix "error: ", a line has fewer than 300 characters.
MOST_CHARACTERS = 292
# An address converted to a path has lost a slash.
_WHO = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]+:/{1,2})\S+@")
_PASSWORD = re.compile(r"(\bpassword=)[^&\s'\"]+", re.IGNORECASE)
_WORD = re.compile(r"\S{61,}")


class RecveilError(ValueError):
    """Bad input or settings, with a remedy.

    Programs read `code`. The message names the subject, the expected and the actual value, and the
    remedy. The command line prints it without a traceback and exits with code 2. It has fewer than
    300 characters: long words are shortened first, then the middle, so that the name at its start
    and the remedy at its end stay. User names and passwords in addresses are removed.

    Parameters
    ----------
    message : str
    code : str
        A stable identifier of the problem, such as `scale.inferred`. The reference lists all codes.

    Attributes
    ----------
    also : tuple of str
        Other problems of the same input, each with its remedy.

    Examples
    --------
    >>> RecveilError("k is 0; expected 2 or more", code="option.value").code
    'option.value'
    >>> raise RecveilError("k is 0, but a group needs at least one user; give 2 or more")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: k is 0, but a group needs at least one user; give 2 or more
    >>> error = RecveilError(f"ratings.csv: no column {'x' * 1_000_000!r}; rename one")
    >>> print(error)
    ratings.csv: no column 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxx'; rename one
    """

    __module__ = "recveil"

    def __init__(self, message: str = "", *, code: str = "unspecified") -> None:
        super().__init__(within_limit(without_secrets(message)))
        self.code = code
        self.also: tuple[str, ...] = ()


def without_secrets(text: str) -> str:
    """Remove user names and passwords from the addresses in a text.

    >>> without_secrets("postgresql://ann:secret@host/shop?password=secret: no such file")
    'postgresql://...@host/shop?password=... no such file'
    """
    return _PASSWORD.sub(r"\1...", _WHO.sub(r"\1...@", text))


class MachineError(RecveilError):
    """A fault of the machine, not of the data, such as a full disk: never cached as a result."""


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all errors that led to it, shown or not."""
    chain: list[BaseException] = []
    left: BaseException | None = error
    while left is not None and left not in chain:
        chain.append(left)
        yield left
        left = left.__cause__ or left.__context__


def add_note(error: BaseException, text: str) -> None:
    """Add a note to an error, or to the interruption that caused it, once."""
    noted = next((each for each in chain_of(error) if isinstance(each, KeyboardInterrupt)), error)
    if text not in notes_of(noted):
        noted.add_note(text)


def notes_of(error: BaseException | None) -> list[str]:
    """Return the notes of an error.

    >>> notes_of(KeyboardInterrupt())
    []
    """
    return list(getattr(error, "__notes__", ()))


def is_of_machine(error: BaseException) -> bool:
    """Return whether an error comes from the machine's disk, memory or files."""
    return any(isinstance(each, MachineError | MemoryError | OSError) for each in chain_of(error))


def lacks_files(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, is the limit on open files.

    >>> lacks_files(OSError(errno.EMFILE, "Too many open files")), lacks_files(OSError())
    (True, False)
    """
    full = (errno.EMFILE, errno.ENFILE)
    return any(
        isinstance(each, OSError) and (each.errno in full or "Too many open files" in str(each))
        for each in chain_of(error)
    )


def too_few_files() -> str:
    """Return the message for the limit on open files, with its remedy."""
    most = ""
    if sys.platform != "win32":
        import resource

        most = f" ({resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,}, ulimit -n)"
    return (
        f"too few files may be open at once{most}: raise that limit (ulimit -n 1024), or close "
        f"other programs, and run again"
    )


def reject_interruption(error: BaseException) -> None:
    """Raise a KeyboardInterrupt if an error was caused by one.

    Ctrl-C during a compiled kernel surfaces as a SystemError: "returned a result with an exception
    set".

    >>> reject_interruption(RecveilError("k is 0"))
    """
    for each in chain_of(error):
        if isinstance(each, KeyboardInterrupt):
            raise each


def within_limit(message: str) -> str:
    """Shorten a message to a line, its long words first, then its middle."""
    if len(message) <= MOST_CHARACTERS:
        return message
    message = _WORD.sub(lambda word: shortened(word[0]), message)
    return shortened(message, MOST_CHARACTERS)


def shortened(text: str, most: int = 60) -> str:
    """Replace the middle of a long text with dots.

    >>> shortened("abcdefghijklmnopqrstuvwxyz", most=13)
    'abcdef...wxyz'
    """
    if len(text) <= most:
        return text
    end = (most - 3) * 2 // 5
    return f"{text[: most - 3 - end]}...{text[-end:]}"


def printable(text: str) -> str:
    r"""Escape characters that a terminal would obey or hide: control and direction marks.

    >>> print(printable("ann\x1b[2J \u202ebob"))
    ann\x1b[2J \u202ebob
    """
    if text.isprintable():
        return text
    # Bytes of a name that are not UTF-8 are written unchanged.
    return "".join(
        each if each.isprintable() or "\udc80" <= each <= "\udcff" else repr(each)[1:-1]
        for each in text
    )


def printable_lines(value: Any) -> Any:
    """Escape control and direction characters in the lines of a text that is not markup."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return "\n".join(map(printable, value.split("\n")))
    return value


def quoted(value: object, most: int = 60) -> str:
    """Quote a value from the input as Python writes it, shortened to a line."""
    return shortened(repr(value), most)


def option_named(name: str) -> str:
    """Return how messages name an option, in Python and on the command line.

    >>> option_named("day_width")
    'day_width (--day-width)'
    """
    return f"{name} (--{name.replace('_', '-')})"


def describe_count(number: int, one: str, many: str = "") -> str:
    """Format a number and what it counts."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(values: Iterable[object], most: int = 100) -> str:
    """Quote values between commas; those beyond `most` characters are only counted."""
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


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Suggest the known name closest to an unknown one; "" if none is close."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def unknown(what: str, name: str, known: Collection[str]) -> RecveilError:
    """Return the error for a name that is not among the known ones.

    >>> unknown("method", "sprase", ["simple", "sparse"])
    RecveilError("method 'sprase' (did you mean sparse?): expected one of 'simple', 'sparse'")
    """
    expected = f"expected one of {listed(known, 150)}"
    return RecveilError(
        f"{what} {name!r}{suggest_name(name, known)}: {expected}", code="option.value"
    )


def named_twice(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, in order of first occurrence, in linear time."""
    return [name for name, times in Counter(names).items() if times > 1]


class ReadingWarning(UserWarning):
    """Rows, columns or dates of a table were dropped, or how it was read is doubtful."""


class LinkageWarning(UserWarning):
    """Another release has some of the same users."""


class UnknownOrderError(RecveilError):
    """Raised if the column of users is ambiguous, as a wrong guess would publish users."""

    def __init__(self, message: str, facts: list[str], choices: list[dict[str, str]]) -> None:
        super().__init__(message, code="column.order")
        self.facts = facts
        self.choices = choices


def reason_of(error: Exception) -> str:
    """Return why a JSON file, such as release.json, cannot be used."""
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
    r"""Return the first line of a library's error, shortened; its class if it is empty.

    >>> first_line_of(ValueError("bad magic number\nat byte 0"))
    'bad magic number'
    """
    return shortened(str(error).strip().partition("\n")[0], 80) or type(error).__name__


def first_sentence_of(text: str) -> str:
    """Return the first sentence of a text.

    >>> first_sentence_of("Rows carry no noise. On half of the users, an AUC of 0.91.")
    'Rows carry no noise.'
    """
    return f"{text.partition('. ')[0].removesuffix('.')}."


# Begins each line that warns, in every output.
WARNING = "warning: "
# Keywords of other libraries, and those here of which a call may have one.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "random_state": ("seed",),
    **dict.fromkeys(("sep", "separator"), ("delimiter",)),
    **dict.fromkeys(("overwrite", "exist_ok", "replace"), ("force",)),
    **dict.fromkeys(("out", "path", "folder", "output", "target"), ("output", "target", "folder")),
    **dict.fromkeys(("eps", "privacy_budget"), ("epsilon",)),
    **dict.fromkeys(("rating_scale", "reader"), ("scale",)),
    **dict.fromkeys(("drop_duplicates", "keep"), ("duplicates",)),
    **dict.fromkeys(("dropna", "na_values"), ("drop_off_scale",)),
    **dict.fromkeys(("n_targets", "n"), ("targets",)),
    **dict.fromkeys(("test_size", "holdout"), ("split",)),
    **dict.fromkeys(("adversary", "preset", "presets"), ("adversaries",)),
    "implicit": ("likes",),
    "ks": ("k",),
    "method": ("methods",),
    "timestamp": ("time",),
}
# Keywords of the release, which other verbs take.
_OF_RELEASES = ("k", "epsilon", "method")
# Keywords of pandas.read_csv that say what a table in memory needs no more.
_OF_PANDAS = (
    *("header", "names", "columns", "usecols", "index_col", "encoding", "skiprows", "skipfooter"),
    *("nrows", "dtype", "parse_dates", "comment", "quotechar", "engine", "line_format"),
)
# Attributes of classes of other libraries, and what to use here: the first that a class has.
_OTHER_CALLS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("fit", "transform", "fit_transform", "predict"), ("anonymize(ratings)",)),
    **dict.fromkeys(("sample", "fit_anonymize", "generate"), ("anonymize(ratings)",)),
    **dict.fromkeys(("to_frame", "to_df", "df", "data"), ("to_pandas()", "to_dict()")),
    **dict.fromkeys(
        ("save", "dump"), ("write(folder)", "to_html(path)", "to_pandas()", "to_dict()")
    ),
    "to_csv": ("write(folder, file_format='csv')", "to_pandas().to_csv(path)"),
    "to_parquet": ("write(folder)", "to_pandas().to_parquet(path)"),
    "write": ("to_pandas().to_csv(path)", "to_html(path)"),
    "to_json": ("to_dict()",),
    "to_pandas": ("release.to_pandas()", "violations", "to_dict()"),
    "to_dict": ("to_pandas().to_dict()",),
    "to_numpy": ("to_csr()",),
    "shape": ("to_csr().shape", "ratings.shape"),
    "head": ("to_pandas().head()", "rows"),
    "columns": ("to_pandas().columns",),
    "groupby": ("to_pandas().groupby(column)",),
    **dict.fromkeys(
        ("describe", "info", "summary", "report"),
        ("describe()", "summary()", "to_pandas().describe()", "to_dict()"),
    ),
    "plot": ("chart()", "to_pandas()"),
    **dict.fromkeys(("results", "metrics", "score", "scores"), ("to_pandas()", "to_dict()")),
    "coverage": ("evaluation.coverage", "to_dict()", "recveil.evaluate(table, release)"),
    **dict.fromkeys(("rmse", "ndcg"), ("evaluation", "to_dict()")),
    "evaluate": ("recveil.evaluate(table, release)",),
    "audit": ("recveil.audit(table, release)",),
    **dict.fromkeys(("split", "train_test_split"), ("recveil.evaluation.split_ratings(ratings)",)),
    "card": ("write(folder)",),
    **dict.fromkeys(("best", "recommended", "recommendation"), ("choice()",)),
    **dict.fromkeys(("ok", "passed", "valid", "is_valid"), ("holds",)),
    **dict.fromkeys(("users", "user_ids"), ("users", "ids()")),
    "item_ids": ("items",),
    "ratings": ("values", "to_pandas()"),
    **dict.fromkeys(("n_rows", "n_ratings"), ("n_ratings", "to_arrow().num_rows")),
    **{name: (f"ratings.{name}",) for name in ("n_users", "n_items")},
    "sparsity": ("density",),
    "mean": ("values.mean()",),
    "scale": ("manifest.scale", "ratings.scale"),
    "epsilon": ("claim.epsilon",),
    "method": ("manifest.settings",),
}


def unexpected_keyword(call: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for a keyword that a call does not have, with the one that was meant.

    >>> unexpected_keyword("read", "user_col", ["user", "item"])
    TypeError("read() got an unexpected keyword argument 'user_col' (did you mean user?)")
    """
    known = [each for each in known if each != "self"]
    is_verb = call.islower()
    of_call = [*known, *(_OF_RELEASES if call in ("anonymize", "dry_run") else ())]
    other = next((each for each in _OTHER_NAMES.get(name, ()) if each in of_call), None)
    hint = f" (did you mean {other}?)" if other else suggest_name(name, known)
    if other is None and name in _OF_RELEASES and is_verb and call not in ("anonymize", "dry_run"):
        hint = f"; make a release with anonymize(source, {name}=...), and give it as release"
    elif name in _OF_PANDAS and is_verb:
        hint = "; read the file with pandas, and give the frame"
    elif not hint:
        hint = (
            f"; help(recveil.{call}) lists its keywords" if is_verb else f"; it has {listed(known)}"
        )
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}{hint}")


def with_known_keywords(call: Callable[_P, _R]) -> Callable[_P, _R]:
    """Name the right keyword for those of other libraries."""
    known = signature(call).parameters

    @wraps(call)
    def checked(*args: _P.args, **options: _P.kwargs) -> _R:
        for name in options.keys() - known.keys():
            raise unexpected_keyword(call.__qualname__, name, known)
        return call(*args, **options)

    return checked


def no_attribute(instance: object, name: str) -> AttributeError:
    """Return the error for an attribute that a class lacks, with what to use instead.

    >>> from recveil.datasets import make_ratings
    >>> no_attribute(make_ratings(9, 9, 40), "to_frame")
    AttributeError("Ratings has no attribute 'to_frame'; call to_pandas()")
    """
    message = f"{type(instance).__name__} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message)
    fields = getattr(type(instance), "__dataclass_fields__", {})
    known = sorted({each for each in (*dir(instance), *fields) if not each.startswith("_")})
    for call in _OTHER_CALLS.get(name.rstrip("_"), ()):
        first = re.split(r"\W", call)[0]
        if first in (*known, "recveil") and first != name:
            return AttributeError(f"{message}; {'call' if '(' in call else 'use'} {call}")
    hint = suggest_name(name, known) or f"; it has {listed(known, 120)}"
    return AttributeError(f"{message}{hint}")
