"""audit: how easily are the people in this table found again?"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from recveil.attacks import PRESETS, Adversary, Candidates, choose_targets
from recveil.attacks.membership.shadow_models import check_shadows
from recveil.attacks.reidentification.hidden_items import Catalogue
from recveil.attacks.reidentification.nominal_pairs import pairs_of
from recveil.auditing import work_estimates as durations
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
from recveil.io.pipes import reject_no_path, reject_two_standard_inputs
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
    """Refuse another release without one, or beside itself.

    Examples
    --------
    >>> reject_releases("out", None)
    """
    if release is not None:
        reject_no_path("a release folder", release=release)
    if against is None:
        return
    reject_no_path("a release folder", against=against)
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
    """Refuse shadow releases of none, and too few of them.

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
    """Refuse a public table that is no file, or without a release whose items it could name.

    Examples
    --------
    >>> reject_catalogue(None, "out")
    """
    if catalogue is None:
        return
    if not is_frame(catalogue):
        reject_no_path("a public table of ratings", catalogue=catalogue)
    if release is None:
        raise RecveilError(
            "catalogue: given without a release, whose hidden items it could name; give the "
            "release, too (--release), or leave it out",
            code="option.required",
        )


# More people are in no table, and nobody waits for more draws.
_MOST = 1_000_000_000
# No rate of theirs may reassure anybody who holds ratings of the same people.
_OF_LIKES = (
    "These are likes: people were looked for by their items, and by dates where there are any. A "
    "table that says how they rated gives the same people away more easily, and these rates say "
    "nothing of it. Where ratings are spoken of, likes are meant."
)


@brief
@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Parameters
    ----------
    ratings : Ratings
    reading : Reading
        What was understood of the table.
    attacks : list of Outcome
        One for each adversary.
    figures : list of Figure
    checks : list of Check
        The positive controls: does the attack itself work on this data?
    sufficient : list of Sufficient
        The smallest number of known ratings that finds half, and nine tenths, of the people.
    risk : Risk or None
        How often each user is found (private).
    suspects : list of Suspects
        The best candidates for each target of somebody's own file.
    published : AttackedRelease or None
        What the adversaries achieve against a release of the same people.
    knowledge : Reading or None
        What was understood of somebody's own file of outside knowledge.
    graphs : list of GraphAttack
        What Chang et al.'s attacks achieve.
    deanonymized : list of Deanonymized
        Narayanan & Shmatikov's Definition 3, as measured for each adversary.
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
        """Return the audit as plain data, for JSON and for the page."""
        ratings = self.ratings
        verdict = write_verdict(self.attacks, self.checks, self.sufficient)
        # What is to be published comes first; what the raw table gives away is the "before".
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
        """Return a chart of altair: the same as on the page of the audit.

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
            If there is no such chart, or nothing to be drawn.
        """
        from recveil.auditing.charts import draw_part  # altair takes a second to load

        return draw_part(self.to_dict(), name).with_key()

    def _warnings(self) -> list[str]:
        """Say what makes the numbers less worth: of what was read, and of the attacks."""
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
        """Tell whom each adversary finds, for a notebook."""
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
    """Attack a table as if it had been published with the names removed.

    Parameters
    ----------
    source : path, Ratings, or data frame
    release : path, optional
        A release of the same people, to be attacked, too; its private twin judges.
    against : path, optional
        Another release of the same people: what do the two tell together? Needs `release`.
    adversaries : iterable of Adversary, optional
        All of `PRESETS` if not given. Without their dates if none were recognized; and where no
        value could be wrong without them, or a preset's value could not (all ratings are equal,
        say), wrong entries are items that the target never rated. The descriptions say so.
    targets : int or None
        How many people each adversary looks for; None for all.
    draws : int
        How often knowledge is drawn for each of them.
    seed : int
    curves : bool
        Whether to compute the curves and everybody's risk, too.
    aux : path or data frame, optional
        Somebody's own table of outside knowledge: (target, item[, rating][, date]).
    catalogue : path or data frame, optional
        Where `release` hides its items: a table of other people's ratings under the items' own
        ids, with which an adversary may name them again. If not given, half of the people
        themselves stand in for it.
    shadows : int, optional
        How many releases like `release` to make of halves of the people, to learn from them who is
        in another one: an even number of at least 8, such as 32. Each takes as long as making one.
    **reading
        Passed to `understand`. Of `aux` and `catalogue`, columns with these names are read if the
        file has them, else those with the usual names; and `duplicates` holds for them, too.

    Returns
    -------
    Audit

    Raises
    ------
    RecveilError
        If a file cannot be read, a number makes no sense, `against` comes without `release`, or an
        adversary of somebody's own is to have wrong values where none can be wrong.

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
        reject_no_path("a file of outside knowledge", aux=aux)
    reject_catalogue(catalogue, release)
    reject_two_standard_inputs(source=source, aux=aux, catalogue=catalogue)
    with parts("Auditing", {durations.READING: 1, THE_REST: 8 if release is None else 20}) as begin:
        begin(durations.READING)
        read = understand(source, **reading).require_times().settled()
        ratings = read.ratings
        words, ratings = ratings, ratings if ratings.scale.ordered else pairs_of(ratings)
        is_paired = ratings is not words
        if is_paired:
            reject_catalogue_of_words(catalogue)
            adversaries = who_know_words(adversaries, PRESETS.values())
        if words.scale.words:  # other files have the same words, by the same numbers
            reading = {**reading, "scale": words.scale}
        candidates = Candidates.from_ratings(ratings)
        # The other files first: if one cannot be read, nobody should wait for the attacks to hear.
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
            parts_of_it = durations.of_attack(
                ratings, opened.table, opened.manifest, len(chosen), tell_content=True
            )
            of_release = sum(parts_of_it.values())
        costs = durations.of_audit(
            *(ratings, len(chosen), draws),
            curves=curves,
            n_shadows=shadows or 0,
            release=of_release,
        )
        with parts("Auditing", costs) as begin:
            published = None
            if release is not None and opened is not None:
                begin(durations.SHADOWS)
                shadowed = None
                if shadows is not None:
                    shadowed = shadow_published(words, release, shadows, seed)
                begin(durations.RELEASE)
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
    """Read somebody's own table with what was said of the other, as far as it fits."""
    if not isinstance(aux, str | PathLike):
        table = frame_of(aux).table  # once, as some can be read but once
        return read_knowledge(table, **reading_of(table, reading))
    with file_next_to_table("aux", aux) as file:
        return read_knowledge(file, **reading_of(file, reading))


def _catalogue(path: str | PathLike[str] | Any, reading: dict[str, Any]) -> Catalogue:
    """Read a public table with what was said of the private one, as far as it fits."""
    if not isinstance(path, str | PathLike):
        table = frame_of(path).table
        told = understand(table, times=False, **reading_of(table, reading))
        return Catalogue(told.ratings, told.name)
    with file_next_to_table("catalogue", path) as file:
        told = understand(file, times=False, **reading_of(file, reading))
    return Catalogue(told.ratings, told.name)
