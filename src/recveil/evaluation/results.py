"""Results of the evaluation of one release, as data; `recveil.report.evaluation` describes them."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from recveil.auditing.release_attacks import AttackedRelease
from recveil.evaluation.fidelity_metrics import Deviation, Fidelity, SelfRank
from recveil.evaluation.groups import Division
from recveil.evaluation.next_items import NextItems
from recveil.evaluation.nominal import NominalServed, RowAccuracy
from recveil.evaluation.recipient import AVERAGES, CarryOver, Served
from recveil.evaluation.retained import Measured, RetainedUtility
from recveil.evaluation.split import Matched
from recveil.io import Reading
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import import_optional
from recveil.release.coverage import Coverage
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief
from recveil.verification.link_posterior import LinkPosterior


class Note(NamedTuple):
    """What could not be measured, or how figures are to be read.

    Attributes
    ----------
    code : str
        "implicit" and "nominal" describe the feedback; "no-lists", "synthetic", "unknown-rows",
        "no-membership" and "no-links" what was not measured; "judged" whom figures are of.
    detail : str
        Why the map is unknown, or there are no link probabilities; or how many users are judged.
    """

    code: Literal[
        "implicit",
        "nominal",
        "pairs",
        "no-lists",
        "synthetic",
        "unknown-rows",
        "no-membership",
        "no-links",
        "judged",
    ]
    detail: str = ""


@brief
@dataclass(frozen=True, eq=False)
class Evaluation(Reportable):
    """Utility and disclosure of one release.

    Results that need the private map of users to rows are None without it; `notes` gives the
    reason.

    Parameters
    ----------
    target_deviation, similar_user_deviation : Deviation or None
        Of each user's own published row, and of the row most similar to them.
    self_rank : SelfRank or None
        The rank of each user's own row among similar published rows, where an item that a row lacks
        counts as maximally dissimilar.
    self_rank_common : SelfRank or None
        The same on common items alone; see `recveil.evaluation.find_similar_users`.
    raw, release : Served
        Every recommender, trained on the raw ratings and on the release. Both serve the same users,
        from their own training ratings.
    raw_gain, raw_lists : Measured
        The utility to retain: the RMSE of averages minus that of the raw ratings, and the nDCG of
        the best raw lists; see `recveil.evaluation.raw_gain`.
    release_gain : Measured
        The gain of the release over the same averages; negative if it is worse.
    retained : RetainedUtility
        The retained shares of both, by the recommenders that a recipient of either would choose;
        headlines use these.
    best_retained : RetainedUtility
        The same by the best recommenders, which a recipient cannot know in advance.
    carry_over : CarryOver
    fidelity : Fidelity
    coverage : Coverage
        The items and training ratings that the release keeps.
    disclosure : AttackedRelease or None
        The audit's attacks on the release.
    links : LinkPosterior or None
        How certainly a row reveals that a member rated an item, given the real shares of raters.
        Also None if all rows hold the same items: then only their values reveal who rated what.
    raw_absent, release_absent : Served or None
        As `raw` and `release`, for the users who are not in the release; None if there are none.
    n_users : int
        Users in the training ratings.
    n_served : int
        Users with held-out cells who are judged.
    n_absent : int or None
        Users with held-out cells who are not in the release.
    n_cells : int
        Held-out cells.
    notes : tuple of Note
    next_items : NextItems or None
        Lists of each user's first ratings after the cut; None unless the split is by time.
    divisions : tuple of Division
        Utility by group of users and of items.
    """

    target_deviation: Deviation | None
    similar_user_deviation: Deviation | None
    self_rank: SelfRank | None
    self_rank_common: SelfRank | None
    raw: Served
    release: Served
    raw_gain: Measured
    raw_lists: Measured
    release_gain: Measured
    retained: RetainedUtility
    best_retained: RetainedUtility
    carry_over: CarryOver
    fidelity: Fidelity
    coverage: Coverage
    disclosure: AttackedRelease | None
    links: LinkPosterior | None
    raw_absent: Served | None
    release_absent: Served | None
    n_users: int
    n_served: int
    n_absent: int | None
    n_cells: int
    notes: tuple[Note, ...] = ()
    next_items: NextItems | None = None
    divisions: tuple[Division, ...] = ()

    @property
    def has_ratings(self) -> bool:
        """Whether ratings were predicted; implicit feedback has none."""
        return AVERAGES in self.raw.utilities

    @property
    def filled_share(self) -> float | None:
        """The share of held-out cells that the user's row fills; they never count as truth."""
        return None if self.target_deviation is None else 1 - self.target_deviation.null_share


@brief
@dataclass(frozen=True, eq=False)
class NominalLists(Reportable):
    """Quality of lists of liked items, in a table of nominal labels.

    The fields are those of `Evaluation`; `liked` has the labels that count as liked.
    """

    liked: tuple[str, ...]
    raw: Served
    release: Served
    raw_lists: Measured
    retained: RetainedUtility
    best_retained: RetainedUtility


@brief
@dataclass(frozen=True, eq=False)
class NominalEvaluation(Reportable):
    """Utility and disclosure of one release of nominal labels.

    Parameters
    ----------
    row_accuracy : RowAccuracy or None
        Of users' own published rows; None without the map of users to rows.
    raw, release : NominalServed
        Every predictor, trained on the raw table and on the release.
    raw_gain, release_gain : Measured
        Their gain in accuracy over each item's most frequent label.
    retained, best_retained : Measured
        The retained share of that gain, by the predictors that a recipient would choose, and by the
        best ones.
    lists : NominalLists or None
        None without liked labels.
    coverage, disclosure, links, notes
        As in `Evaluation`.
    n_users, n_served, n_cells : int
        As in `Evaluation`.
    divisions : tuple of Division
        As in `Evaluation`, of lists; empty without liked labels.
    """

    row_accuracy: RowAccuracy | None
    raw: NominalServed
    release: NominalServed
    raw_gain: Measured
    release_gain: Measured
    retained: Measured
    best_retained: Measured
    lists: NominalLists | None
    coverage: Coverage
    disclosure: AttackedRelease | None
    links: LinkPosterior | None
    n_users: int
    n_served: int
    n_cells: int
    notes: tuple[Note, ...] = ()
    divisions: tuple[Division, ...] = ()


@brief
@dataclass(frozen=True, eq=False)
class Evaluated(Reportable):
    """An evaluation with its inputs.

    Parameters
    ----------
    evaluation : Evaluation or NominalEvaluation
        The latter of nominal labels.
    train : Ratings
        What the evaluated release was made from.
    readings : tuple of Reading
        How each file was read.
    release : str
        The name of the folder.
    share : float or None
        The share that was held out here; None if the test ratings came in a file. Otherwise the
        evaluated release was made here from the rest, with the settings of the folder.
    matched : Matched or None
        Which ratings of the test file, or after the cut, could be used.
    seed : int
    sha256 : str or None
        Of the folder's release.json.
    cut : int or None
        The first day after the training ratings, in days since 1970-01-01, of a split by time.
    coverage : Coverage or None
        Of the folder, if another release was evaluated; None if it is not of these ratings.
    """

    evaluation: Evaluation | NominalEvaluation
    train: Ratings
    readings: tuple[Reading, ...]
    release: str
    share: float | None
    matched: Matched | None
    seed: int
    sha256: str | None = None
    cut: int | None = None
    coverage: Coverage | None = None

    def summary(self) -> str:
        """Return the retained utility and the coverage."""
        return str(self.to_dict()["headline"])

    def to_pandas(self) -> Any:
        """Return the utility of recommenders as a pandas data frame, one recommender per row.

        Its columns are the keys of `to_dict` with dots, such as ``release.rmse``.
        """
        recipient = self.to_dict()["recipient"]
        sides = recipient.get("recommenders") or recipient["predictors"]
        rows = [{"name": name, **each} for name, each in sides.items()]
        return import_optional("pandas").json_normalize(rows).set_index("name")
