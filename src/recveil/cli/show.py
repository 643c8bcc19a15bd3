"""Printing: results as tables for people, or as one JSON object for programs."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from recveil.cli.options import echo
from recveil.runtime.errors import describe_count, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recveil.io import Reading
    from recveil.ratings import Ratings
    from recveil.verification import Verification


def narrow(*heads: str) -> Table:
    """Return a table without a frame around it."""
    return Table(*heads, show_edge=False, pad_edge=False)


# Beside the label and the number, at least so much of a line is a bar; at most, so much.
_LEAST, _MOST = 8, 50


def bars(labels: Sequence[str], numbers: Sequence[int], width: int, indent: int = 2) -> list[str]:
    r"""Draw a bar for each of some numbers, the largest as long as fits.

    Examples
    --------
    >>> print(*bars(["1", "2-4"], [2, 8], 16), sep="\n")
        1 ##       2
      2-4 ######## 8
    """
    before = max(map(len, labels), default=0)
    told = [f"{number:,}" for number in numbers]
    after = max(map(len, told), default=0)
    room = max(_LEAST, min(_MOST, width - indent - before - after - 2))
    highest = max(1, *numbers, 0)
    lines = []
    for label, number, text in zip(labels, numbers, told, strict=True):
        length = max(1, round(room * number / highest)) if number else 0
        bar = (_mark() * length).ljust(room)
        lines.append(f"{'':{indent}}{label:>{before}} {bar} {text:>{after}}")
    return lines


def _mark() -> str:
    """Return what bars are made of: a block, if the terminal can write it."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"


_SHOWN = 10
# Of the columns that were compared: a table may have thousands, and nobody reads a cell of those.
_NAMES_SHOWN = 30


# Of all JSON results; it changes when a key changes its name or meaning.
SCHEMA_VERSION = 2


def write_json(result: dict[str, Any], target: Path | None) -> bool:
    """Write JSON to a file, or to standard output for "-"; return whether text may follow.

    The file is readable for its owner alone, since some results contain user ids.
    """
    if target is None:
        return True
    from recveil.runtime.atomic_writes import write_atomically
    from recveil.runtime.devices import is_device, write_to_device

    to_stdout = str(target) == "-"
    # Bytes that are not Unicode become \udcff, as in the name of a file that is not UTF-8.
    plain = to_stdout and not _takes_unicode(sys.stdout)
    document = {"schema_version": SCHEMA_VERSION, **result}
    text = json.dumps(document, indent=2, ensure_ascii=plain)
    text = text.encode("utf-8", "backslashreplace").decode() + "\n"
    if to_stdout:
        from recveil.io.pipes import reject_closed

        reject_closed("stdout")
        print(text, end="")
        return False
    if is_device(target):
        write_to_device(target, text)
    else:  # a full disk leaves the old file
        write_atomically(target, lambda staged: staged.write_text(text, "utf-8", "replace"))
    return True


def _takes_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def describe(ratings: "Ratings", reading: "Reading | None" = None) -> dict[str, Any]:
    """Return the size of a table, and what was understood of it, for JSON."""
    return {
        **({} if reading is None else reading.to_dict()),
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": ratings.n_ratings,
        "density": ratings.density,
        "scale": str(ratings.scale),
        **ratings.scale.words_to_json(),
    }


def show_read(reading: "Reading", *, err: bool = False, examples: bool = True) -> None:
    """Say what was read, which column was taken for what, and what was left out.

    On standard error, if standard output carries the result itself.
    """
    from recveil.io.columns.feedback import meaning_of_words

    ratings = reading.ratings
    console = Console(stderr=err)
    what, whose, scale = "rating", "by", _describe_scale(reading)
    if reading.of_release:
        what, whose = "label", "in the rows of"
    if ratings.is_unary:
        what, scale = "like", "; no ratings: read as likes"
    console.print(
        f"Read {describe_count(ratings.n_ratings, what)} of "
        f"{describe_count(ratings.n_items, 'item')} {whose} "
        f"{describe_count(ratings.n_users, 'user')}{scale}{_from_to(ratings)}."
    )
    if reading.columns:
        layout = f"{', '.join(reading.layout)}; " if reading.layout else ""
        format = f"; format {reading.format}" if reading.format else ""
        read = f"{reading.name}: {layout}{reading.mapping(examples=examples)}{format}."
        console.print(escape(printable(read)))
    for note in (*meaning_of_words(ratings.scale), *reading.notes):
        console.print(f"[yellow]note[/]  {escape(printable(note))}")


def _describe_scale(reading: "Reading") -> str:
    """Describe the scale of ratings, who named it, and how many users used its ends."""
    ratings = reading.ratings
    told = escape(printable(str(ratings.scale)))
    if reading.of_release:
        return f"; {'words' if ratings.scale.words else 'scale'} {told}"
    if not ratings.scale.words:
        origin = "given" if reading.scale_given else "inferred; give --scale if it is another"
        origin = "levels of counts" if reading.counted else origin
        return f"; scale {told} ({origin}{_users_of_ends(ratings)})"
    if ratings.scale.ordered:
        return f"; words {told} (given{_users_of_ends(ratings)})"
    origin = "given" if reading.scale_given else "those of the table"
    return f"; words without an order: {told} ({origin})"


def _users_of_ends(ratings: "Ratings") -> str:
    """Say how many people used each end of the scale; of a continuous one, its outer tenth."""
    from recveil.ratings.ratings import count_users

    if not ratings.scale.range:
        return ""
    low, high = (count_users(ratings, side) for side in ("low", "high"))
    ends = ("low end", "high end") if ratings.scale.step else ("lowest tenth", "highest tenth")
    users = describe_count(low, "user")
    return f"; {users} used its {ends[0]}, {high:,} its {ends[1]}"


def _from_to(ratings: "Ratings") -> str:
    """Say from when to when people rated, if that is known."""
    if ratings.days is None:
        return ""
    first, last = (str(day.astype("M8[D]")) for day in (ratings.days.min(), ratings.days.max()))
    return f"; {first} to {last}"


def show_not_covered(result: "Verification") -> None:
    """Print what the verdict says nothing of."""
    sentences = (f"- {escape(sentence)}" for sentence in result.not_covered)
    Console().print("Not covered by this verdict:", *sentences, sep="\n")


def show_links(result: "Verification") -> None:
    """Print how sure the rows make it that a member rated an item."""
    if result.no_links:
        echo(result.no_links)
        return
    if result.links is None:
        echo(
            "All rows hold the same items, so that no probability follows from an item's standing "
            "in a row. That hides nothing: labels that a smooth fit of all rows does not explain "
            "tell who rated what (docs/explanation/threats.md, “What padded rows tell”)."
        )
        return
    links = result.links
    echo(
        f"A member of a group rated an item of its row with probability {links.mean:.2f} on "
        f"average and {links.highest:.2f} at most, if people rate independently of each other. "
        f"{links.uncovered_share:.1%} of the links are about items that more than one in k people "
        f"rated: no bound is proven for those."
    )


def describe_alone(people: int) -> str:
    """Say how many people share their row with nobody.

    Examples
    --------
    >>> describe_alone(1), describe_alone(2)
    ('1 person stands alone', '2 people stand alone')
    """
    return "1 person stands alone" if people == 1 else f"{people:,} people stand alone"


def show_verification(result: "Verification", name: str) -> None:
    """Print the verdict and the first violations."""
    from recveil.release.claim import claim_kind

    console = Console()
    about = claim_kind(result.claim)
    what = about.shared
    if not result.contains_users:
        _show_drawn(console, result, name)
        return
    if result.holds and result.has_levels:
        console.print(
            f"[bold green]holds[/]  {escape(name)}: every {what} is shared by at least as "
            f"many people as it says ({result.k_achieved} or more); {describe_alone(result.alone)}."
        )
    elif result.holds:
        console.print(
            f"[bold green]holds[/]  {escape(name)}: every {what} is shared by at least "
            f"{describe_count(result.k_achieved, 'person', 'people')} "
            f"({result.k_required} required)."
        )
    elif result.k_achieved < result.k_required and (result.records or not result.violations):
        console.print(
            f"[bold red]does not hold[/]  {escape(name)}: {result.k_required} people must share "
            f"each {what}, but some is shared by {result.k_achieved} only."
        )
    else:
        _show_first(console, result, name)
    one, rows = about.shared_short
    table = narrow(
        *("people", "published rows", f"different {rows}", f"fewest people on a {one}", "compared")
    )
    numbers = (result.users, result.records, result.classes, result.k_achieved)
    table.add_row(*(f"{n:,}" for n in numbers), escape(_names(result.compared)))
    console.print(table)
    if about.caution:
        console.print(about.caution)
    if result.diversity is not None and result.diversity.holds:
        found = result.diversity
        console.print(
            f"Diversity: {describe_count(found.sets, 'set')} of b = {found.b} items occur, each in "
            f"at least {found.smallest} different rows (l = {found.l} required)."
        )
    _show_violations(console, result)


def words_of(result: "Verification") -> list[str]:
    """Return the words that `show_verification` prints, and whose meaning is known here.

    A kind of claim that somebody registered has words of its own.
    """
    from recveil.cli.explanations import MEANINGS
    from recveil.release.claim import claim_kind

    one, rows = claim_kind(result.claim).shared_short
    if result.contains_users:
        words = ["published rows", f"different {rows}", f"fewest people on a {one}", "compared"]
    else:
        words = ["layout", "drawn people", "compared"]
        if result.holds and result.epsilon is not None:
            words += ["epsilon", "delta", "ledger"]
    if result.diversity is not None and result.diversity.holds:
        words.append("diversity")
    return [word for word in words if word in MEANINGS]


def _show_drawn(console: Console, result: "Verification", name: str) -> None:
    """Print the verdict over a release in which no record is anybody's."""
    from recveil.release.claim import claim_kind

    if not result.holds:
        _show_first(console, result, name)
    elif result.epsilon is not None and result.delta is not None:
        console.print(
            f"[bold green]holds[/]  {escape(name)}: epsilon {result.epsilon:g} with delta "
            f"{result.delta:g} follows from its ledger ({result.ledger_epsilon:.6g}); it says that "
            f"no row is anybody's."
        )
    else:
        console.print(
            f"[bold green]holds[/]  {escape(name)}: it says that no row is anybody's, and "
            f"promises nothing about who is in the data."
        )
    table = narrow("layout", "drawn people", "compared")
    table.add_row(result.layout, f"{result.users:,}", escape(_names(result.compared)))
    console.print(table)
    console.print(claim_kind(result.claim).caution)
    _show_violations(console, result)


def _show_first(console: Console, result: "Verification", name: str) -> None:
    first = result.violations[0]
    console.print(
        f"[bold red]does not hold[/]  {escape(name)}: {escape(first.where)}: "
        f"{escape(first.problem)}."
    )


def _names(compared: "Sequence[str]") -> str:
    """Return the names of the first columns, and how many others there are."""
    left = len(compared) - _NAMES_SHOWN
    named = ", ".join(compared[:_NAMES_SHOWN])
    return f"{named} and {left:,} more" if left > 0 else named


def _show_violations(console: Console, result: "Verification") -> None:
    """Print the first violations, if there are any."""
    if not result.violations:
        return
    n_violations = len(result.violations)
    title = "1 violation" if n_violations == 1 else f"{n_violations:,} violations"
    first = narrow("where", "user_id", "problem")
    first.title = title
    for violation in result.violations[:_SHOWN]:
        first.add_row(
            escape(violation.where), escape(violation.user_id or ""), escape(violation.problem)
        )
    console.print(first)
    if len(result.violations) > _SHOWN:
        console.print(f"The first {_SHOWN} are shown; --json lists the others.")
