"""Method: all that everybody may know of a way to make releases, in one place.

Here is what it publishes, promises and does not promise, and which options it takes. How it is made
is none of this floor's business: whoever checks or attacks a release must not need its maker.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recveil.release.claim import Claim, ClaimKind, claim_kind
from recveil.runtime.errors import describe_count
from recveil.runtime.safe_repr import brief

Settings = Mapping[str, Any]


@brief
@dataclass(frozen=True)
class PublicSetting:
    """A setting that a release publishes.

    Parameters
    ----------
    name : str
    allowed : tuple
        All that it can be; exactly these, so that 1 is not True.
    any_class : bool
        Whether it can be the name of somebody's own class, too.
    any_step : bool
        Whether it can be a step in rating points, too.
    any_share : bool
        Whether it can be a share between 0 and 1, too.
    any_numbers : bool
        Whether it can be a list of numbers, too; they must follow from what the claim covers.
    of_people : bool
        Whether it is a number of people, of whom a release has no fewer.
    when : callable, optional
        Takes all settings, and says whether this one is among them; always, if not given.
    first_format : int
        The oldest format whose releases publish it.
    """

    name: str
    allowed: tuple[Any, ...] = ()
    any_class: bool = False
    any_step: bool = False
    any_share: bool = False
    any_numbers: bool = False
    of_people: bool = False
    when: Callable[[Settings], bool] = lambda _: True
    first_format: int = 1

    def _facts(self) -> dict[str, object]:
        return {"": self.name}


# What a release publishes that is made of likes, in the stand of all that is about ratings.
OF_LIKES = PublicSetting(
    "ratings", ("likes",), when=lambda given: "ratings" in given, first_format=6
)
# What a release of any method publishes, besides, whose labels are levels of counts.
OF_COUNTS = PublicSetting("counts", ("log",), when=lambda given: "counts" in given, first_format=5)
# What a release of any method publishes, besides, whose items bear pseudonyms.
HIDDEN_ITEMS = PublicSetting("items", ("pseudonyms",), when=lambda given: "items" in given)


@brief
@dataclass(frozen=True)
class Option:
    """What one can choose when one makes a release, for the library and the command line.

    Parameters
    ----------
    name : str
        The keyword in the library.
    help : str
        What it does, for the command line; the first word in lower or upper case as it shall stand.
    kind : type
        bool, int, float, str or Path.
    choices : tuple of str
        All that it can be, if that is known.
    flag : str
        How the command line spells it; ``--name`` if not given.
    metavar : str
    panel : str
        The heading that it stands under in the help.
    default : object
        What it is if nobody says. The anonymizer decides if it is None.
    needs : dict of str to str
        Values that make sense only together with another option, and its name.
    """

    name: str
    help: str
    kind: type = str
    choices: tuple[str, ...] = ()
    flag: str = ""
    metavar: str | None = "NAME"
    panel: str = "Method"
    default: Any = None
    needs: Mapping[str, str] = field(default_factory=dict)

    def _facts(self) -> dict[str, object]:
        return {"": self.spelled}

    @property
    def spelled(self) -> str:
        """How the command line spells it.

        Examples
        --------
        >>> Option("round_fills", "Round.", bool).spelled
        '--round-fills'
        """
        return self.flag or f"--{self.name.replace('_', '-')}"


@brief
@dataclass(frozen=True)
class Variant:
    """A name for a method with some of its options, to be compared with others.

    Parameters
    ----------
    name : str
    description : str
        One sentence for people.
    options : dict
        What differs from the method's defaults.
    claim : str
        The kind of claim that its releases make.
    kind : str
        Its like share a colour.
    colour : str
        Of its line and points in a drawing.
    in_all : bool
        Whether it is one of those that "all" stands for.
    is_attacked : bool
        Whether the attacks know what to undo. Where they do not, low rates say nothing.
    is_control : bool
        Whether it is the raw table: there the attacks must find people.
    of : {"ratings", "likes", "both", "words", "any"}
        Of what such releases can be made: both are ratings and likes; words are those that have no
        order, and others count as ratings.
    """

    name: str
    description: str
    claim: str
    kind: str
    colour: str
    options: Mapping[str, Any] = field(default_factory=dict)
    in_all: bool = False
    is_attacked: bool = True
    is_control: bool = False
    of: Literal["ratings", "likes", "both", "words", "any"] = "ratings"

    def _facts(self) -> dict[str, object]:
        return {"": self.name, "claim": self.claim}

    @property
    def about_claim(self) -> ClaimKind:
        """What its claim means."""
        return claim_kind(self.claim)


def _no_problems(_manifest: Settings, _format: int) -> Iterator[str]:
    return iter(())


def problems_of_full_rows(name: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Say if rows that should hold all items lack some.

    Parameters
    ----------
    name : str
        What the rows are called.
    counts : mapping
        Of records, labels and items.

    Examples
    --------
    >>> list(problems_of_full_rows("padded", {"records": 2, "labels": 5, "items": 3}))
    ['settings: rows are padded, so that each holds all 3 items, but 2 rows hold 5 labels in all']
    """
    if counts["labels"] != counts["records"] * counts["items"]:
        yield (
            f"settings: rows are {name}, so that each holds all "
            f"{describe_count(counts['items'], 'item')}, but "
            f"{counts['records']:,} rows hold {counts['labels']:,} labels in all"
        )


def _no_grid(_settings: Settings, _step: float | None) -> float | None:
    return None


@dataclass(frozen=True)
class Method:
    """A way to make releases, as far as everybody may know it.

    Parameters
    ----------
    name : str
        As the command line calls it.
    title : str
        As release.json calls it.
    description : str
        What it does, for the help of the command line; starts in lower case, no full stop.
    family : {"identical rows", "co-rated", "baseline", "other"}
        What kind of a thing its releases are.
    settings : tuple of PublicSetting
        What its releases publish of how they were made, in the order in which they stand.
    claim_of : callable
        Takes the settings, and returns the kind of claim that they lead to.
    card : str
        Jinja template of the data card. It extends "card" and fills at least the blocks `learned`
        and `not_promised`; empty if releases are never written.
    options : tuple of Option
    variants : tuple of Variant
    first_format : int
        The oldest format of releases that knows it.
    card_of_likes : str
        The same of releases that are made of likes; empty if none can be, as it takes ratings.
    takes_unordered : bool
        Whether its releases are made of words without an order, and of nothing else.
    takes_k : bool
        Whether one says how large groups are; a baseline is one setting.
    model_columns : callable, optional
        Takes the number of columns of the model that people are drawn from, and the settings, and
        returns their names: the items' ids first, then numbers. None if a method has no model.
    asked_by : str
        The option that one gives to choose this method, in the stand of k; empty if it is chosen
        by its name alone.
    promise_in_short : str
        What such a release promises, in half a line, where both promises stand side by side.
    takes_levels, takes_diversity : bool
        Whether its releases can have privacy levels, and diversity.
    one_person_each : bool
        Whether each record is one person's, in whatever layout it is written.
    keeps_items : bool or callable
        Whether a row holds nothing but items that somebody behind it (or behind a record with the
        same items) rated; takes the settings.
    averages_raters : callable
        Takes the settings, and tells whether each label is the mean of the ratings of those behind
        the row who rated the item, moved to the grid, and of nothing else.
    problems : callable
        Takes the content of release.json and the number of its format, and says what in them cannot
        be of such a release beyond what all have in common: numbers that its settings cannot have,
        queries that its ledger must hold.
    problems_of_rows : callable
        Takes the settings, k, and counts of what the rows hold (users, records, labels, items, and
        values: the most distinct values of one item), and says which settings these refute.
    label_grid : callable
        Takes the settings and the scale's step, and returns the step on which all labels lie; None
        if on none.
    beside_real_ratings : callable
        Takes the settings, and says what stands beside the real ratings of whoever has level 1.
    publishers_word : callable
        Takes the settings, and returns sentences: what no file can prove.
    undone_by : callable
        Takes the settings, or those of them that a variant fixes, and returns sentences: what
        attacks are known to undo of it.
    made_before : callable
        Takes the settings, and returns sentences: what is wrong with a release of its time.
    unpromised : callable
        Takes the settings and k, and returns what an audit says after the rates, where the claim
        bounds none.
    about_exact : str
        What an audit adds, where it says how many ratings stand exactly.
    no_links : str
        Why the rows do not tell how sure it is that somebody rated an item; empty if they do.
    why_not_again : str
        Why no other such release can be made from the settings, if none can; follows "because".
    """

    name: str
    title: str
    description: str
    family: Literal["identical rows", "co-rated", "baseline", "other"]
    settings: tuple[PublicSetting, ...]
    claim_of: Callable[[Settings], str]
    card: str
    options: tuple[Option, ...] = ()
    variants: tuple[Variant, ...] = ()
    first_format: int = 2
    card_of_likes: str = ""
    takes_unordered: bool = False
    takes_k: bool = True
    model_columns: Callable[[int, Settings], tuple[str, ...]] | None = None
    asked_by: str = ""
    promise_in_short: str = ""
    takes_levels: bool = False
    takes_diversity: bool = False
    one_person_each: bool = False
    keeps_items: Callable[[Settings], bool] = lambda _: False
    averages_raters: Callable[[Settings], bool] = lambda _: False
    problems: Callable[[Settings, int], Iterator[str]] = _no_problems
    problems_of_rows: Callable[[Settings, int, Mapping[str, int]], Iterator[str]] = (
        lambda _settings, _k, _counts: iter(())
    )
    label_grid: Callable[[Settings, float | None], float | None] = _no_grid
    beside_real_ratings: Callable[[Settings], str] = lambda _: ""
    publishers_word: Callable[[Settings], tuple[str, ...]] = lambda _: ()
    undone_by: Callable[[Settings], tuple[str, ...]] = lambda _: ()
    made_before: Callable[[Settings], tuple[str, ...]] = lambda _: ()
    unpromised: Callable[[Settings, int], str] | None = None
    about_exact: str = ""
    no_links: str = ""
    why_not_again: str = "its settings do not say how"

    @property
    def takes_likes(self) -> bool:
        """Whether its releases can be made of likes, which have no ratings."""
        return bool(self.card_of_likes)

    def expected(self, settings: Settings) -> list[PublicSetting]:
        """Return the settings that a release with some of these values publishes, in order."""
        return [
            setting
            for setting in (*self.settings, HIDDEN_ITEMS, OF_COUNTS)
            if setting.when(settings)
        ]

    def option(self, name: str) -> Option | None:
        """Return an option by its name; None if the method has none such."""
        return next((option for option in self.options if option.name == name), None)

    def after_rates(self, settings: Settings, claim: Claim) -> str:
        """Return what an audit says of the promise, where the claim bounds no rate."""
        if self.unpromised is None:
            return f"{claim.about.unpromised}. Better attacks may find more."
        return self.unpromised(settings, claim.k)
