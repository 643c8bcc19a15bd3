"""Public description of a method: its options, claims and limits.

It is independent of the implementation, so checks and attacks do not need the anonymizer.
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
        Allowed values, compared with their type, so that 1 is not True.
    any_class : bool
        Whether the name of a custom class is allowed, too.
    any_step : bool
        Whether a step in rating points is allowed, too.
    any_share : bool
        Whether a share between 0 and 1 is allowed, too.
    any_numbers : bool
        Whether a list of numbers is allowed, too; they must follow from what the claim covers.
    of_people : bool
        Whether it is a user count, at most the release's.
    when : callable, optional
        Takes all settings, and returns whether this one is among them; by default it always
        is.
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


# Settings of releases made of likes, in place of all settings about ratings.
OF_LIKES = PublicSetting(
    "ratings", ("likes",), when=lambda given: "ratings" in given, first_format=6
)
# Additional settings of any method whose values are levels of counts.
OF_COUNTS = PublicSetting("counts", ("log",), when=lambda given: "counts" in given, first_format=5)
# Additional settings of any method whose items have pseudonyms.
HIDDEN_ITEMS = PublicSetting("items", ("pseudonyms",), when=lambda given: "items" in given)


@brief
@dataclass(frozen=True)
class Option:
    """An option for making releases, in the library and on the command line.

    Parameters
    ----------
    name : str
        The keyword in the library.
    help : str
        Help text on the command line, in its final capitalization.
    kind : type
        bool, int, float, str or Path.
    choices : tuple of str
        Allowed values, if known.
    flag : str
        Spelling on the command line; ``--name`` by default.
    metavar : str
    panel : str
        Heading of its section in the help.
    default : object
        Default value; None if the anonymizer decides.
    needs : dict of str to str
        Values that require another option, and its name.
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
        """Spelling on the command line.

        Examples
        --------
        >>> Option("round_fills", "Round.", bool).spelled
        '--round-fills'
        """
        return self.flag or f"--{self.name.replace('_', '-')}"


@brief
@dataclass(frozen=True)
class Variant:
    """A named choice of a method's options, for comparisons.

    Parameters
    ----------
    name : str
    description : str
        One sentence.
    options : dict
        What differs from the method's defaults.
    claim : str
        The kind of claim that its releases make.
    kind : str
        Variants of one kind share a colour.
    colour : str
        Of its line and points in a drawing.
    in_all : bool
        Whether "all" includes it.
    is_attacked : bool
        Whether the attacks are adapted to it. Otherwise low rates are not evidence of safety.
    is_control : bool
        Whether it is the raw table, in which the attacks must succeed.
    of : {"ratings", "likes", "both", "words", "any"}
        Possible input: "both" means ratings and likes; "words" are nominal, and ordinal ones
        count as ratings.
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
        """The kind of its claim."""
        return claim_kind(self.claim)


def _no_problems(_manifest: Settings, _format: int) -> Iterator[str]:
    return iter(())


def problems_of_full_rows(name: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Report rows that should hold all items but do not.

    Parameters
    ----------
    name : str
        Name of the kind of rows.
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
    """Public description of a way to make releases.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Name in release.json.
    description : str
        What it does, for the help of the command line; starts in lower case, no full stop.
    family : {"identical rows", "co-rated", "baseline", "other"}
        Kind of its releases.
    settings : tuple of PublicSetting
        Published settings in their order.
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
        The same for releases made of likes; empty if the method takes ratings only.
    takes_unordered : bool
        Whether its input is nominal words only.
    takes_k : bool
        Whether it has the parameter k.
    model_columns : callable, optional
        Takes the number of columns of the model for synthetic users, and the settings, and
        returns their names: the items' ids first, then numbers. None if a method has no model.
    asked_by : str
        The option that selects this method in place of k; empty if only its name does.
    promise_in_short : str
        Its claim in half a line, next to the other one.
    takes_levels, takes_diversity : bool
        Whether its releases can have privacy levels, and diversity.
    one_person_each : bool
        Whether each record belongs to one user, in any layout.
    keeps_items : bool or callable
        Whether a row holds only items that one of its users (or of a record with the same
        items) rated; takes the settings.
    averages_raters : callable
        Takes the settings, and returns whether each value is the mean of the ratings of the
        row's users who rated the item, rounded to the grid.
    problems : callable
        Takes the content of release.json and the number of its format, and returns the
        method's own errors in them: invalid numbers in settings, queries missing from the
        ledger.
    problems_of_rows : callable
        Takes the settings, k, and counts of what the rows hold (users, records, labels, items,
        and values: the most distinct values of one item), and returns the settings that these
        contradict.
    label_grid : callable
        Takes the settings and the scale's step, and returns the step on which all labels lie; None
        if on none.
    beside_real_ratings : callable
        Takes the settings, and describes what is mixed with the real ratings of users of level
        1.
    publishers_word : callable
        Takes the settings, and returns sentences: what no file can prove.
    undone_by : callable
        Takes the settings, or those of them that a variant fixes, and returns sentences: what
        attacks are known to undo of it.
    made_before : callable
        Takes the settings, and returns sentences: known defects of older releases.
    unpromised : callable
        Takes the settings and k, and returns what an audit states after the rates, where the
        claim bounds none.
    about_exact : str
        What an audit adds to the count of exact ratings.
    no_links : str
        Why the rows do not yield link posteriors; empty if they do.
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
        """Return the settings that a release with these values publishes, in order."""
        return [
            setting
            for setting in (*self.settings, HIDDEN_ITEMS, OF_COUNTS)
            if setting.when(settings)
        ]

    def option(self, name: str) -> Option | None:
        """Return an option by its name; None if it is unknown."""
        return next((option for option in self.options if option.name == name), None)

    def after_rates(self, settings: Settings, claim: Claim) -> str:
        """Return what an audit states where the claim bounds no rate."""
        if self.unpromised is None:
            return f"{claim.about.unpromised}. Better attacks may find more."
        return self.unpromised(settings, claim.k)
