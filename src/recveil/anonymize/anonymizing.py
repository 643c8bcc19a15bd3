"""anonymize: from a file of ratings to a verified release, in one call."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from recveil.anonymize.base import check_people, check_seed, drawn_seed
from recveil.anonymize.choices import check_options, choose_method, own_options
from recveil.anonymize.drawing_options import check_many_drawn
from recveil.anonymize.earlier import Earlier, find_earlier, others, warnings_of
from recveil.anonymize.hiding import anonymize_hidden
from recveil.anonymize.methods import Maker, is_rule, maker_of
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.io import Reading, file_at, understand
from recveil.io.keywords import refuse_unknown_keywords
from recveil.io.pipes import refuse_no_path, refuse_two_standard_inputs
from recveil.io.standing_for import files_at, is_log_of, would_be_read
from recveil.progress import parts
from recveil.publish.expected import Expected, refuse_too_large
from recveil.publish.folder import check_form, naming_cost
from recveil.publish.release import Release
from recveil.publish.staging import check_target
from recveil.ratings import Ratings
from recveil.ratings.likes import PUBLISHED, refuse_likes, refuse_unordered
from recveil.ratings.people_ids import refuse_people
from recveil.release.anonymizer import Anonymizer
from recveil.release.method import OF_COUNTS, Method
from recveil.release.sides import FileFormat, Layout
from recveil.verify import Verification

# The parts of the work. None takes longest with all methods and tables.
_READING, _MAKING, _WRITING = "Reading ratings", "Making a release", "Writing and verifying"


@brief
class Anonymized(NamedTuple):
    """What was read, what was made of it, and what the checker says of the written files.

    And the earlier releases of the same people that were seen: two of them tell more than one.
    """

    ratings: Ratings
    release: Release
    verification: Verification
    reading: Reading
    earlier: tuple[Earlier, ...] = ()

    def warnings(self, output: Path) -> list[str]:
        """Say what the release that was written to `output` tells together with each of these."""
        made, ratings_sha256 = self.release.published, self.release.private.ratings_sha256
        return warnings_of(self.earlier, output, made.claim, ratings_sha256)

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


def anonymize(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str],
    *,
    k: int | None = None,
    method: str | None = None,
    layout: Layout = "auto",
    file_format: FileFormat = "parquet",
    seed: int | None = None,
    hide_items: bool = False,
    force: bool = False,
    allow_large: bool = False,
    against: str | PathLike[str] | None = None,
    tell: Callable[[Expected], object] | None = None,
    **options: Any,
) -> Anonymized:
    r"""Read a file of ratings and write a release of it that is verified to keep its claim.

    Parameters
    ----------
    source : path, Ratings, or data frame
        The ratings, in any format that `recveil.io` reads. In a file without a header, whose
        format does not fix their order, `user` and `item` must say which column is which.
    output : path
        The folder to be published; its private twin is `output` + ".private".
    k : int, optional
        Smallest group of people who share what the method makes them share. Either k is given, or
        what another method is asked for by instead, such as epsilon.
    method : str, optional
        "predictive" (`PredictiveAnonymizer`), the default; "k-corating" (`KCoRater`), or another
        one that was registered; see `recveil.anonymize.methods`.
    layout, file_format, force, allow_large
        See `Release.write`.
    against : path, optional
        An earlier release; `earlier` of the result tells whether it holds some of the same people.
        Those in the folder of the output are looked at without being named.
    seed : int, optional
        Fixes everything random; drawn from the system if not given.
    hide_items : bool
        Publish a pseudonym in the place of each item's id, in an order drawn at random; the private
        twin alone tells which is which. Attacks often tell it, too: audit the release.
    tell : callable, optional
        Is told what the release will take, as soon as it is known: before the work for padded
        rows, before the writing for others, whose groups say how many labels there are.
    **options
        Those of the method, whose class says what they mean and what they are if not given:
        homogenize, predictor, grouping, round_labels, b and l for "predictive", and
        `privacy_levels` as a file with the columns user_id and k, in which users who are missing
        have the level `k`, or as a rule for `levels_by_rule`; fill, grouping, round_fills and
        protect for "k-corating", and `trust` as a file of whom people say they trust. And those of
        reading, passed to `understand`: format, scale, duplicates, drop_off_scale, and names or
        places of columns.

    Raises
    ------
    RecveilError
        If the source cannot be read, a setting makes no sense or is of the other method, or the
        output cannot be written or would be too large. Nothing is written then.
    UnknownOrderError
        If nothing tells which column holds the users.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.ratings import RatingScale
    >>> with TemporaryDirectory() as folder:
    ...     source, output = Path(folder, "ratings.csv"), Path(folder, "release")
    ...     rows = "1,8,5 1,9,4 2,8,5 3,9,1 4,9,1 4,8,2 5,8,4 6,9,2".split()
    ...     _ = source.write_text("\n".join(["user,item,rating", *rows]))
    ...     made = anonymize(source, output, k=3, seed=1, scale=RatingScale(1, 5, 1))
    ...     made.verification.k_achieved
    3
    """
    with parts("Anonymizing", {_READING: 1, _MAKING: 1, _WRITING: 1}) as begin:
        begin(_READING)
        ready = prepare(
            source,
            output,
            k=k,
            method=method,
            layout=layout,
            file_format=file_format,
            seed=seed,
            hide_items=hide_items,
            force=force,
            allow_large=allow_large,
            against=against,
            tell=tell,
            **options,
        )
        begin(_MAKING)
        release = _make(ready, hide_items=hide_items)
        if ready.expected is None and release.published.expect is not None:
            expected = release.published.expect(layout, file_format)
            if expected is not None:
                with naming_cost(release.published.claim):
                    ready.size.check(expected)
        begin(_WRITING)
        verification = release.write(
            output, layout=layout, file_format=file_format, force=force, allow_large=allow_large
        )
    seen = tuple(others(list(ready.earlier), Path(output)))
    return Anonymized(ready.ratings, release, verification, ready.reading, seen)


@brief
class Prepared(NamedTuple):
    """All that is known before the work: what was read, and how the release will be made.

    Attributes
    ----------
    reading : Reading
    maker : Maker
    given : dict
        The options of the method that were given.
    anonymizer : Anonymizer
    seed : int
    size : Size
    expected : Expected or None
        None where only the finished groups tell.
    earlier : tuple of Earlier
    """

    reading: Reading
    maker: Maker
    given: Mapping[str, Any]
    anonymizer: Anonymizer
    seed: int
    size: "Size"
    expected: Expected | None
    earlier: tuple[Earlier, ...]

    @property
    def ratings(self) -> Ratings:
        """What was read."""
        return self.reading.ratings


def _make(ready: Prepared, *, hide_items: bool) -> Release:
    """Make a release, whose card says how many rows of the input are not in it."""
    sides = (
        anonymize_hidden(ready.ratings, ready.anonymizer, ready.seed)
        if hide_items
        else ready.anonymizer.anonymize(ready.ratings)
    )
    dropped = ready.reading.duplicates_dropped
    published = replace(sides.published, duplicates_dropped=dropped)
    if ready.reading.counted:
        said = {OF_COUNTS.name: OF_COUNTS.allowed[0]}
        published = replace(published, settings={**published.settings, **said})
    return Release(published, sides.private)


def prepare(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str],
    *,
    k: int | None,
    method: str | None,
    layout: Layout,
    file_format: FileFormat,
    seed: int | None,
    hide_items: bool,
    force: bool,
    allow_large: bool,
    against: str | PathLike[str] | None,
    tell: Callable[[Expected], object] | None,
    is_dry: bool = False,
    **options: Any,
) -> Prepared:
    """Read and check all that `anonymize` is given, and write nothing.

    The parameters are those of `anonymize`; `is_dry` leaves what killed runs left as it is.

    Raises
    ------
    RecveilError
        As `anonymize`, for all that is seen before the work.
    """
    given, reading = own_options(options)
    maker = maker_of(choose_method(method, k, given))
    refuse_unknown_keywords("anonymize", reading, "k", "people_in", "times")
    given = check_options(maker.method, given)
    maker.check(given)
    _refuse_idle(maker, given, k, seed, hide_items=hide_items)
    check_form(layout, file_format)
    check_layout(maker.method, layout)
    check_many_drawn(given, layout, allow_large=allow_large)
    refuse_no_path("a release", is_output=True, output=output)
    if against is not None:
        refuse_no_path("a release folder", against=against)
    files = _files(maker, given)
    refuse_two_standard_inputs(source=source, **files)
    check_target(output, force=force, is_dry=is_dry)  # a mistyped output should not cost the work
    refuse_within(source, output)
    # The published rows carry no times, so that bad ones need not stop anybody.
    people_in = [(maker.people_in[name], file) for name, file in files.items()]
    found = understand(source, times=False, k=k, people_in=people_in, **reading)
    ratings = found.ratings
    is_secret = maker.is_secret(given)
    if not (hide_items or is_secret):  # with noise, the method decides by public ids alone
        refuse_people(ratings.items, can_hide=_can_hide(maker.method))
    _refuse_feedback(maker, ratings, is_secret=is_secret)
    # Before the work: an older release at the same place is gone after it.
    earlier = find_earlier(ratings.users, Path(output), against)
    for name, read in maker.read.items():
        if name in given:
            given[name] = read(given[name], ratings, k or 0)
    check_seed(seed)
    seed = drawn_seed(seed)
    anonymizer = maker.make(k, seed=None if is_secret else seed, **given)
    size = Size(Path(output), layout, file_format, allow_large, tell)
    expected = None
    if maker.expect is not None and isinstance(k, int):
        expected = maker.expect(ratings, k, given, layout, file_format)
    if expected is not None and isinstance(k, int):
        takes = {"takes_likes": maker.method.takes_likes}
        takes["takes_unordered"] = maker.method.takes_unordered
        check_people(ratings, k, **takes)  # who is refused need not hear how long it would take
        size.check(expected)
    return Prepared(found, maker, given, anonymizer, seed, size, expected, tuple(earlier))


def refuse_within(source: Any, output: str | PathLike[str]) -> None:
    """Raise a RecveilError if the input stands in the output, or would with the next run."""
    held = file_at(source)
    stood_for = [] if held is None else [held, *files_at(held)]
    if any(Path(output).resolve() in file.resolve().parents for file in stood_for):
        raise RecveilError(
            f"{held} stands in the output {output}; choose another output", code="output.is-input"
        )
    if held is not None and (would_be_read(Path(output), held) or is_log_of(Path(output), held)):
        raise RecveilError(
            f"{output} would stand among the files of {held}, which the next run reads; choose "
            f"another output",
            code="output.is-input",
        )


def _refuse_idle(
    maker: Maker, given: Mapping[str, Any], k: int | None, seed: int | None, *, hide_items: bool
) -> None:
    """Refuse what a method does not look at, or what would undo its promise."""
    method = maker.method
    if k is not None and not method.takes_k:
        raise RecveilError(
            f"k (--k): the method {method.name} takes none, as no row is shared; leave it out",
            code="option.unsupported",
        )
    if seed is not None and maker.is_secret(given):
        raise RecveilError(
            f"seed (--seed): with {method.asked_by} (--{method.asked_by}) the noise is drawn in "
            f"secret, as whoever guesses a seed takes the noise away; leave it out",
            code="option.conflict",
        )
    if not hide_items or _can_hide(method):
        return
    if method.takes_unordered:
        raise RecveilError(
            f"hide_items (--hide-items): not with the method {method.name} yet, as no audit looks "
            f"for hidden items by words; leave it out",
            code="option.unsupported",
        )
    raise RecveilError(
        f"hide_items (--hide-items): not with the method {method.name}, as rows are synthetic "
        f"and counts reveal the items; leave it out",
        code="option.unsupported",
    )


def _can_hide(method: Method) -> bool:
    return not (method.takes_unordered or method.asked_by)


def check_layout(method: Method, layout: Layout) -> None:
    """Refuse a layout that the method's releases never have, before any query or grouping."""
    if layout == "groups" and method.asked_by:
        raise RecveilError(
            f"layout (--layout) is groups, but the method {method.name} publishes synthetic users, "
            f"who have no groups; take users or model",
            code="option.unsupported",
        )


def _refuse_feedback(maker: Maker, ratings: Ratings, *, is_secret: bool) -> None:
    """Refuse likes where a method needs ratings, and a scale that nobody named or paid for."""
    if not maker.method.takes_unordered:
        refuse_unordered(ratings, "this method")
    if ratings.is_unary and not maker.method.takes_likes:
        refuse_likes(ratings, PUBLISHED)
    elif is_secret and ratings.is_unary:
        _refuse_unsaid_likes(maker, ratings)
    elif is_secret:
        _refuse_unpaid_scale(maker, ratings)
    elif not ratings.is_unary:
        refuse_likes(ratings, PUBLISHED)


def _refuse_unpaid_scale(maker: Maker, ratings: Ratings) -> None:
    """Refuse a scale that was read off the ratings where everything that is told must be paid."""
    if ratings.scale.inferred:
        raise RecveilError(
            f"scale (--scale): {ratings.scale} was read off the ratings, and the lowest and "
            f"highest may be one person's; with {maker.method.asked_by} nothing is told of one "
            f"person, so name the scale, such as --scale {ratings.scale}",
            code="scale.inferred",
        )


def _refuse_unsaid_likes(maker: Maker, likes: Ratings) -> None:
    """Refuse ratings that were taken for likes because all are equal: one person's may differ."""
    if likes.scale.inferred:
        raise RecveilError(
            f"likes (--likes): all ratings are equal, and were taken for likes; one person could "
            f"change that, and with {maker.method.asked_by} nothing is told of one person, so say "
            f"that they are likes (--likes), or name the scale (--scale)",
            code="scale.inferred",
        )


# What each kind of file that names users is called.
_FILES = {"levels": "a file of privacy levels", "trust": "a file of who trusts whom"}


def _files(maker: Maker, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are files which name users: these may help to tell them from items.

    Privacy levels may be a rule instead, which names nobody.
    """
    files = {
        name: given[name] for name in maker.people_in if name in given and not is_rule(given[name])
    }
    for name, file in files.items():
        refuse_no_path(_FILES[maker.people_in[name]], **{name: file})
    return files


@brief
class Size(NamedTuple):
    """Where the release goes, and how large it may be."""

    output: Path
    layout: Layout
    file_format: FileFormat
    allow_large: bool
    tell: Callable[[Expected], object] | None

    def check(self, expected: Expected) -> None:
        """Tell what is expected, and refuse what is too large."""
        parent = self.output.absolute().parent
        refuse_too_large(expected, parent, self.layout, allow_large=self.allow_large)
        if self.tell is not None:
            self.tell(expected)
