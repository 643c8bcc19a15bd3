"""Re-identification audit of a table and its releases."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from recveil.attacks import PRESETS, Adversary, Candidates, choose_targets
from recveil.attacks.membership.shadow_models import check_shadows
from recveil.attacks.reidentification.hidden_items import Catalogue
from recveil.attacks.reidentification.nominal_pairs import pairs_of
from recveil.auditing import work_estimates
from recveil.auditing._selftest import Check
from recveil.auditing.attacked_release import AttackedRelease
from recveil.auditing.auxiliary_file import Suspects, read_knowledge, reading_of
from recveil.auditing.curves import Figure, Sufficient, guarantees, plain_figure
from recveil.auditing.opened_release import (
    OF_PAIRS,
    find_suspects,
    open_release,
    opened_pairs,
    reject_catalogue_of_words,
    who_know_words,
)
from recveil.auditing.outcome import Outcome
from recveil.auditing.paper_measures import Deanonymized, GraphAttack
from recveil.auditing.release_attacks import attack_opened
from recveil.auditing.risk import Risk
from recveil.auditing.shadow_releases import shadow_published
from recveil.auditing.table_attacks import attack_table, fitted
from recveil.auditing.verdict import warnings_of, write_verdict
from recveil.io import Reading, understand
from recveil.io.ingestion import reject_unknown_keywords
from recveil.io.inputs import file_next_to_table
from recveil.io.pipes import reject_two_standard_inputs, require_path
from recveil.ratings import Ratings
from recveil.ratings.feedback import meaning_of_words
from recveil.ratings.frames import frame_of, is_frame
from recveil.ratings.ratings import in_likes
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.progress import THE_REST, parts
from recveil.runtime.safe_repr import Grid, brief, share_in_words


def reject_releases(
    release: str | PathLike[str] | None, against: str | PathLike[str] | None
) -> None:
    """Reject a second release without a first one, or together with itself.

    Examples
    --------
    >>> reject_releases("out", None)
    """
    if release is not None:
        require_path("a release folder", release=release)
    if against is None:
        return
    require_path("a release folder", against=against)
    if release is None:
        raise RecveilError(
            f"against (--against) is {against}, but there is no release to hold against it; name "
            f"one (--release)",
            code="option.required",
        )
    if Path(release).resolve() == Path(against).resolve():
        raise RecveilError(
            f"against (--against) is the release {release} itself; name another one of the same "
            f"people",
            code="option.conflict",
        )


def reject_shadows(shadows: int | None, release: str | PathLike[str] | None) -> None:
    """Reject shadow releases without a release, and too few of them.

    Examples
    --------
    >>> reject_shadows(None, None)
    """
    if shadows is None:
        return
    check_shadows(shadows)
    if release is None:
        raise RecveilError(
            f"shadows (--shadows) is {shadows}, but there is no release whose like could be made; "
            f"name one (--release)",
            code="option.required",
        )


def reject_catalogue(catalogue: Any, release: Any) -> None:
    """Reject a public table that is not a file, or that comes without a release.

    Examples
    --------
    >>> reject_catalogue(None, "out")
    """
    if catalogue is None:
        return
    if not is_frame(catalogue):
        require_path("a public table of ratings", catalogue=catalogue)
    if release is None:
        raise RecveilError(
            "catalogue: given without a release, whose hidden items it could name; give the "
            "release, too (--release), or leave it out",
            code="option.required",
        )


# A table has fewer users than this, and more draws would take too long.
_MOST = 1_000_000_000
# Notes for tables of likes: the rates do not hold for adversaries who know ratings.
_OF_LIKES = (
    "These are likes: people were looked for by their items, and by dates where there are any. A "
    "table that says how they rated gives the same people away more easily, and these rates say "
    "nothing of it. Where ratings are spoken of, likes are meant."
)


@brief
@dataclass(frozen=True, eq=False)
class Audit:
    """Results of an audit.

    Parameters
    ----------
    ratings : Ratings
    reading : Reading
        How the table was read.
    attacks : list of Outcome
        One per adversary.
    figures : list of Figure
    checks : list of Check
        Positive controls: does the attack itself work on this data?
    sufficient : list of Sufficient
        Smallest number of known ratings that re-identifies half, and nine tenths, of the users.
    risk : Risk or None
        Re-identification rate of each user (private).
    suspects : list of Suspects
        Best candidates for each target of an auxiliary file.
    published : AttackedRelease or None
        Attacks on a release of the same users.
    knowledge : Reading or None
        How the auxiliary file was read.
    graphs : list of GraphAttack
        Chang et al.'s attacks.
    deanonymized : list of Deanonymized
        Narayanan & Shmatikov's Definition 3, measured for each adversary.
    """

    ratings: Ratings
    reading: Reading
    attacks: list[Outcome]
    figures: list[Figure]
    checks: list[Check]
    sufficient: list[Sufficient]
    risk: Risk | None
    suspects: list[Suspects]
    published: AttackedRelease | None
    knowledge: Reading | None = None
    graphs: list[GraphAttack] = field(default_factory=list)
    deanonymized: list[Deanonymized] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data for JSON and the HTML page."""
        ratings = self.ratings
        verdict = write_verdict(self.attacks, self.checks, self.sufficient)
        # The release comes first; the attacks on the raw table are the "before".
        released = {"release": self.published.to_dict()} if self.published else {}
        return {
            **released,
            "data": {
                "source": self.reading.name,
                "users": ratings.n_users,
                "items": ratings.n_items,
                "ratings": ratings.n_ratings,
                "density": ratings.density,
                "scale": str(ratings.scale),
                **ratings.scale.words_told(),
                "times": ratings.days is not None,
                **self.reading.to_dict(),
            },
            "verdict": [in_likes(each, ratings.is_unary) for each in verdict],
            "warnings": self._warnings(),
            "attacks": [outcome.to_dict() for outcome in self.attacks],
            "graph_attacks": [attack.to_dict() for attack in self.graphs],
            "deanonymized": [share.to_dict() for share in self.deanonymized],
            "figures": [plain_figure(each, ratings.is_unary) for each in self.figures],
            "checks": [check._asdict() for check in self.checks],
            "sufficient": [enough.to_dict() for enough in self.sufficient],
            "risk": self.risk and self.risk.to_dict(),
            "release": released.get("release"),
            "suspects": [suspects.to_dict() for suspects in self.suspects],
            "theory": [guarantee.to_dict() for guarantee in guarantees(ratings.n_users)],
        }

    def chart(self, name: str = "adversaries") -> Any:
        """Return an Altair chart, as on the audit's page.

        Parameters
        ----------
        name : str
            "adversaries", "release", "risk", or the number of a figure, such as "4".

        Returns
        -------
        altair.Chart or altair.HConcatChart

        Raises
        ------
        RecveilError
            If there is no such chart, or it has no data.
        """
        from recveil.auditing.charts import draw_part  # altair takes a second to load

        return draw_part(self.to_dict(), name).with_key()

    def _warnings(self) -> list[str]:
        known = self.knowledge
        of_knowledge = [f"{known.name}: {note}" for note in known.notes] if known else []
        of_likes = [_OF_LIKES] if self.ratings.is_unary else []
        of_likes += [] if self.ratings.scale.ordered else [OF_PAIRS]
        told = warnings_of(self.attacks, self.checks)
        told = [in_likes(each, self.ratings.is_unary) for each in told]
        of_words = meaning_of_words(self.ratings.scale)
        return [*self.reading.notes, *of_words, *of_knowledge, *of_likes, *told]

    def _facts(self) -> dict[str, object]:
        found = max((outcome.found.rate for outcome in self.attacks), default=None)
        return {
            "people": self.ratings.n_users,
            "ratings": self.ratings.n_ratings,
            "adversaries": len(self.attacks),
            "found by the strongest": None if found is None else f"{found:.1%}",
            "release attacked": None if self.published is None else True,
        }

    def _tables(self) -> list[Grid]:
        """Return the tables of a notebook: re-identification by each adversary."""
        of_release = [] if self.published is None else self.published.attacks
        in_release = {adversary.name: attack.person_found for adversary, attack in of_release}
        header: tuple[str, ...] = ("adversary", "found", "control")
        rows: list[tuple[str, ...]] = [
            (
                outcome.adversary.name,
                share_in_words(outcome.found) if outcome.attacked else "nobody looked for",
                share_in_words(outcome.control),
            )
            for outcome in self.attacks
        ]
        if in_release:
            header = (*header, "in the release")
            rows = [
                (*row, share_in_words(found) if (found := in_release.get(row[0])) else "–")
                for row in rows
            ]
        blind = 1 / max(1, self.ratings.n_users)
        return [Grid(f"people found; a blind guess finds {blind:.2%}", header, rows)]


def audit(
    source: str | PathLike[str] | Ratings | Any,
    *,
    release: str | PathLike[str] | None = None,
    against: str | PathLike[str] | None = None,
    adversaries: Iterable[Adversary] | None = None,
    targets: int | None = 1_000,
    draws: int = 1,
    seed: int = 0,
    curves: bool = True,
    aux: str | PathLike[str] | Any | None = None,
    catalogue: str | PathLike[str] | Any | None = None,
    shadows: int | None = None,
    **reading: Any,
) -> Audit:
    """Attack a table as if it had been published without names.

    Parameters
    ----------
    source : path, Ratings, or data frame
    release : path, optional
        A release of the same users to attack as well; its private folder is the ground truth.
    against : path, optional
        Another release of the same users, attacked together with `release`, which is required.
    adversaries : iterable of Adversary, optional
        All of `PRESETS` by default. Dates are dropped if the table has none. Where dates are
        dropped, or a preset cannot have wrong values (all ratings are equal, say), wrong entries
        are items that the target never rated. The descriptions say so.
    targets : int or None
        Number of targets per adversary; None for all users.
    draws : int
        Number of draws of knowledge per target.
    seed : int
    curves : bool
        Whether to compute the curves and each user's risk.
    aux : path or data frame, optional
        Auxiliary information: (target, item[, rating][, date]).
    catalogue : path or data frame, optional
        If `release` hides its items, a table of other users' ratings under the original item ids,
        from which an adversary may re-identify items. By default, half of the users serve as this
        table.
    shadows : int, optional
        Number of shadow releases for membership inference, made like `release` from halves of the
        users: even and at least 8, such as 32. Each takes as long as making one release.
    **reading
        Passed to `understand`. In `aux` and `catalogue`, columns with these names are read if the
        file has them, and otherwise those with the usual names. `duplicates` applies to all files.

    Returns
    -------
    Audit

    Raises
    ------
    RecveilError
        If a file cannot be read, a number is out of range, `against` comes without `release`, or a
        custom adversary has wrong values where none can be wrong.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import generate
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = generate(file, users=80, items=40, ratings=900)
    ...     found = audit(file, targets=20, curves=False)
    >>> len(found.attacks), found.attacks[0].requested
    (8, 20)
    """
    for name, number in (("targets", targets), ("draws", draws)):
        if number is not None and not 1 <= number <= _MOST:
            raise RecveilError(
                f"{name} is {quoted(number)}; expected from 1 to {_MOST:,}", code="option.value"
            )
    reject_unknown_keywords("audit", reading, "k", "people_in")
    reject_releases(release, against)
    reject_shadows(shadows, release)
    if aux is not None and not is_frame(aux):
        require_path("a file of outside knowledge", aux=aux)
    reject_catalogue(catalogue, release)
    reject_two_standard_inputs(source=source, aux=aux, catalogue=catalogue)
    with parts(
        "Auditing", {work_estimates.READING: 1, THE_REST: 8 if release is None else 20}
    ) as begin:
        begin(work_estimates.READING)
        read = understand(source, **reading).require_times().settled()
        ratings = read.ratings
        words, ratings = ratings, ratings if ratings.scale.ordered else pairs_of(ratings)
        is_paired = ratings is not words
        if is_paired:
            reject_catalogue_of_words(catalogue)
            adversaries = who_know_words(adversaries, PRESETS.values())
        if words.scale.words:  # other files use the same words, coded by the same numbers
            reading = {**reading, "scale": words.scale}
        candidates = Candidates.from_ratings(ratings)
        # Read the other files first, so that a read error comes before the attacks run.
        known = None if aux is None else _knowledge(aux, reading)
        suspects = [] if known is None else find_suspects(words, ratings, candidates, known)
        chosen = [fitted(ratings, adversary) for adversary in adversaries or PRESETS.values()]
        users = choose_targets(ratings.n_users, targets, seed)
        public = None if catalogue is None else _catalogue(catalogue, reading)
        opened = None
        if release is not None:
            has_catalogue = public is not None
            opened = open_release(words, release, against=against, has_catalogue=has_catalogue)
            opened = opened_pairs(opened, words) if is_paired else opened
        begin(THE_REST)
        of_release = 0.0
        if opened is not None:
            parts_of_it = work_estimates.of_attack(
                ratings, opened.table, opened.manifest, len(chosen), tell_content=True
            )
            of_release = sum(parts_of_it.values())
        costs = work_estimates.of_audit(
            *(ratings, len(chosen), draws),
            curves=curves,
            n_shadows=shadows or 0,
            release=of_release,
        )
        with parts("Auditing", costs) as begin:
            published = None
            if release is not None and opened is not None:
                begin(work_estimates.SHADOWS)
                shadowed = None
                if shadows is not None:
                    shadowed = shadow_published(words, release, shadows, seed)
                begin(work_estimates.RELEASE)
                published = attack_opened(ratings, opened, chosen, users, seed, catalogue=public)
                published = replace(published, shadows=shadowed)
            found = attack_table(
                *(ratings, candidates, chosen, users, begin),
                draws=draws,
                seed=seed,
                curves=curves,
            )
    return Audit(
        ratings=words,
        reading=read,
        suspects=suspects,
        published=published,
        knowledge=known,
        **found._asdict(),
    )


def _knowledge(aux: str | PathLike[str] | Any, reading: dict[str, Any]) -> Reading:
    """Read an auxiliary file with those reading options of the table that fit."""
    if not isinstance(aux, str | PathLike):
        table = frame_of(aux).table  # once, because some frames can be read only once
        return read_knowledge(table, **reading_of(table, reading))
    with file_next_to_table("aux", aux) as file:
        return read_knowledge(file, **reading_of(file, reading))


def _catalogue(path: str | PathLike[str] | Any, reading: dict[str, Any]) -> Catalogue:
    """Read a public table with those reading options of the private table that fit."""
    if not isinstance(path, str | PathLike):
        table = frame_of(path).table
        told = understand(table, times=False, **reading_of(table, reading))
        return Catalogue(told.ratings, told.name)
    with file_next_to_table("catalogue", path) as file:
        told = understand(file, times=False, **reading_of(file, reading))
    return Catalogue(told.ratings, told.name)
