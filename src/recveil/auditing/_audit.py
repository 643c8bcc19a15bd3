"""Re-identification audit of a table and its releases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import PRESETS, Adversary, Candidates, choose_targets
from recveil.attacks.adversary import choose_adversaries
from recveil.attacks.attack_target import pairs_of
from recveil.attacks.knowledge import (
    with_likes,
    with_wrong_items,
    without_dates,
    without_ratings,
)
from recveil.attacks.reidentification.hidden_items import Catalogue
from recveil.auditing import work_estimates
from recveil.auditing._selftest import Check, check_attack
from recveil.auditing.attribute_inference import (
    AttributeInference,
    infer_user_attributes,
    is_identifier,
)
from recveil.auditing.auxiliary_file import Suspects, read_knowledge, reading_of
from recveil.auditing.curves import Figure, Sufficient, draw_figures, find_sufficient
from recveil.auditing.decision import Tuning, tune_adversaries
from recveil.auditing.item_matches import CERTAINTY, ItemMatches, find_matches
from recveil.auditing.opened_release import (
    OpenedRelease,
    adversaries_of_labels,
    attack_auxiliary,
    look_in_release,
    open_release,
    opened_pairs,
    reject_catalogue_of_words,
    reject_other_attributes,
)
from recveil.auditing.release_attacks import AttackedRelease, attack_opened
from recveil.auditing.request import AuditRequest, MatchOptions
from recveil.auditing.risk import Risk, measure_risk
from recveil.auditing.sensitive import SensitiveDisclosure, measure_sensitive
from recveil.auditing.shadow_releases import shadow_published
from recveil.auditing.table_attacks import (
    Deanonymized,
    GraphAttack,
    Outcome,
    attack_graphs,
    group_alike,
    measure_deanonymized,
    run_attack,
)
from recveil.auditing.three_risks import Risks, risks_of_release, risks_of_table
from recveil.io import Reading, understand
from recveil.io.columns.frames import frame_of
from recveil.io.ingestion import reject_unknown_keywords, warn_of_reading
from recveil.io.inputs import file_next_to_table
from recveil.io.options import ReadingOptions
from recveil.io.side_tables import (
    SensitiveItems,
    UserAttributes,
    check_attributes,
    read_sensitive,
    read_users,
)
from recveil.methods.riskiest_users import without_left_out
from recveil.publish.release import PublishedRows
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import import_optional
from recveil.release.manifest_reader import known_manifest
from recveil.runtime.errors import RecveilError, listed
from recveil.runtime.progress import THE_REST, parts, track
from recveil.runtime.reportable import WithPage, reporter_of
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True, eq=False)
class Audit(WithPage):
    """Results of an audit.

    Parameters
    ----------
    ratings : Ratings
    reading : Reading
        How the table was read.
    attacks : list of Outcome
        One per adversary; with declared attributes, each again, who knows those of the target.
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
    tunings : list of Tuning
        How each adversary's widths were chosen, if `tune` asked for it.
    suspects_in_release : list of Suspects
        The same as `suspects`, among the rows of the release.
    sensitive : list of SensitiveDisclosure
        What found records reveal about sensitive items: in the table, and in the release.
    item_matches : ItemMatches or None
        The table's item for each item of an auxiliary file with other ids.
    attribute_inference : list of AttributeInference
        How well declared attributes of users are inferred.
    identifying_attributes : list of str
        Attributes that are not inferred, as nearly every user has a value of their own.
    options : dict
        What repeats the audit: `seed`, `targets`, `shadows`, the names of `attributes` and their
        `attributes_sha256`.
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
    tunings: list[Tuning] = field(default_factory=list)
    suspects_in_release: list[Suspects] = field(default_factory=list)
    sensitive: list[SensitiveDisclosure] = field(default_factory=list)
    item_matches: ItemMatches | None = None
    attribute_inference: list[AttributeInference] = field(default_factory=list)
    identifying_attributes: list[str] = field(default_factory=list)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def risks(self) -> Risks:
        """Singling out, linkability and inference: of the release if there is one, else before."""
        if self.published is None:
            return self.risks_before
        return risks_of_release(
            *(self.published, self.sensitive, self.attribute_inference),
            is_nominal=not self.ratings.scale.ordered,
        )

    @property
    def risks_before(self) -> Risks:
        """The same three risks of the table with names removed."""
        return risks_of_table(
            *(self.attacks, self.graphs, self.sensitive, self.attribute_inference),
            is_unary=self.ratings.is_unary,
            is_nominal=not self.ratings.scale.ordered,
        )

    def summary(self) -> str:
        """Return the verdict and the warnings, a sentence per line."""
        return str(reporter_of(self).summary(self))

    def to_pandas(self) -> Any:
        """Return the attacks as a pandas data frame, one adversary per row.

        Its columns are the keys of `to_dict` with dots, such as ``reidentified.rate``.
        """
        return import_optional("pandas").json_normalize(self.to_dict()["attacks"]).set_index("name")


def audit(
    source: str | PathLike[str] | Ratings | Any,
    release: str | PathLike[str] | PublishedRows | None = None,
    *,
    second_release: str | PathLike[str] | PublishedRows | None = None,
    adversaries: Iterable[Adversary | str] | None = None,
    targets: int | None = 1_000,
    draws: int = 1,
    seed: int = 0,
    curves: bool = True,
    auxiliary: str | PathLike[str] | Any | None = None,
    item_catalog: str | PathLike[str] | Any | None = None,
    shadows: int | None = None,
    tune: bool = False,
    sensitive: str | PathLike[str] | None = None,
    users: str | PathLike[str] | None = None,
    attribute: str | Sequence[str] | None = None,
    item_titles: str | PathLike[str] | None = None,
    auxiliary_titles: str | PathLike[str] | None = None,
    item_matches: str | PathLike[str] | None = None,
    match_certainty: float | None = None,
    **reading: Unpack[ReadingOptions],
) -> Audit:
    """Attack a table as if it had been published without names.

    Parameters
    ----------
    source : path, Ratings, or data frame
    release : path or Release, optional
        A release of the same users to attack as well; its private side is the ground truth.
    second_release : path or Release, optional
        Another release of the same users, attacked together with `release`, which is required.
    adversaries : iterable of Adversary or str, optional
        Adversaries, or names of `PRESETS`; all presets by default. Dates are dropped if the table
        has none. Where dates are dropped, or a preset cannot have wrong values (all ratings are
        equal, say), wrong entries are items that the target never rated. The descriptions say so.
    targets : int or None
        Number of targets per adversary; None for all users.
    draws : int
        Number of draws of knowledge per target.
    seed : int
    curves : bool
        Whether to compute the curves and each user's risk.
    auxiliary : path or data frame, optional
        Auxiliary information: (target, item[, rating][, date]).
    item_catalog : path or data frame, optional
        If `release` hides its items, a table of other users' ratings under the original item ids,
        from which an adversary may re-identify items. By default, half of the users serve as this
        table.
    shadows : int, optional
        Number of shadow releases for membership inference, made like `release` from halves of the
        users: even and at least 8, such as 32. Each takes as long as making one release.
    tune : bool
        Whether to replace each adversary's `rating_width` and `day_width` by those that re-identify
        most users of a calibration half; with an eccentricity other than 1.5, match most.
    sensitive : path, optional
        A file of sensitive items (item[, category]): for how many users does their record reveal
        one?
    users : path, optional
        A file of users (user, and their attributes), such as MovieLens's gender and age.
    attribute : str or sequence of str
        Columns of `users` to infer from a user's ratings, and from what `release` adds to eight of
        them. Attacks on the table are repeated with the target's.
    item_titles, auxiliary_titles : path, optional
        If the items of `auxiliary` have other ids than those of the table: the titles of both
        (item, title[, year]), by which they are matched. The ids of a side without a file are its
        titles.
    item_matches : path, optional
        In place of titles: a file of matches (auxiliary_item, item[, use]), such as
        `ItemMatches.write` writes it.
    match_certainty : float, optional
        Least certainty of a match by titles that is used, 0.9 by default.
    **reading
        Passed to `understand`. In `auxiliary` and `item_catalog`, columns with these names are
        read if the file has them, and otherwise those with the usual names. `duplicates` applies
        to all files.

    Raises
    ------
    RecveilError
        If a file cannot be read, a number is out of range, `second_release` comes without
        `release`, or a custom adversary has wrong values where none can be wrong.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import generate
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = generate(file, users=80, items=40, ratings=900)
    ...     result = audit(file, targets=20, curves=False)
    >>> len(result.attacks), result.attacks[0].requested
    (8, 20)
    >>> result.to_pandas()["reidentified.trials"].tolist()[:2]
    [20, 20]
    """
    reject_unknown_keywords(audit, reading, "k", "user_files")
    with _opened(release) as first, _opened(second_release) as second:
        return _perform(
            AuditRequest(
                source=source,
                release=first,
                second_release=second,
                adversaries=choose_adversaries(adversaries),
                targets=targets,
                draws=draws,
                seed=seed,
                curves=curves,
                auxiliary=auxiliary,
                item_catalog=item_catalog,
                shadows=shadows,
                tune=tune,
                sensitive=sensitive,
                users=users,
                attribute=(attribute,) if isinstance(attribute, str) else attribute,
                match_by=MatchOptions(item_titles, auxiliary_titles, item_matches, match_certainty),
                reading=reading,
            )
        )


def _perform(request: AuditRequest) -> Audit:
    """Read all files, and attack the table and the release."""
    release, seed = request.release, request.seed
    with parts(
        "Auditing", {work_estimates.READING: 1, THE_REST: 8 if release is None else 20}
    ) as begin:
        begin(work_estimates.READING)
        read = understand(request.source, **request.reading).require_times().settled()
        if release is not None:
            read = without_left_out(read, release)
        warn_of_reading(read)
        original, chosen = read.ratings, list(request.adversaries)
        is_paired = not original.scale.ordered
        ratings = pairs_of(original) if is_paired else original
        if is_paired:
            reject_catalogue_of_words(request.item_catalog)
            chosen = adversaries_of_labels(chosen, PRESETS.values())
        candidates = Candidates.from_ratings(ratings)
        # Read the other files first, so that a read error comes before the attacks run.
        known, public, items, declared = _read_files(request, read)
        matches = _match_items(original, known, request.match_by)
        chosen = [fit_adversary(ratings, adversary) for adversary in chosen]
        suspects = attack_auxiliary(original, ratings, candidates, known, chosen[0], matches)
        users = choose_targets(ratings.n_users, request.targets, seed)
        chosen, tunings = tune_adversaries(
            ratings, candidates, chosen, users, seed, is_wanted=request.tune
        )
        opened = None
        if release is not None:
            opened = open_release(
                original,
                release,
                second_release=request.second_release,
                has_catalogue=public is not None,
                users=declared and declared.columns,
            )
            if opened.table is not None:
                reject_other_attributes(opened.table, opened.name)
            opened = opened_pairs(opened, original) if is_paired else opened
        in_release = look_in_release(ratings, opened, known, chosen[0], matches)
        begin(THE_REST)
        costs = costs_of(request, ratings, len(chosen), users.size, opened)
        with parts("Auditing", costs) as begin:
            published = None
            if release is not None and opened is not None:
                begin(work_estimates.SHADOWS)
                shadowed = None
                if request.shadows is not None:
                    shadowed = shadow_published(
                        original, release, request.shadows, seed, opened.attributes
                    )
                begin(work_estimates.RELEASE)
                published = attack_opened(ratings, opened, chosen, users, seed, catalogue=public)
                published = replace(published, shadows=shadowed)
            attacked = attack_table(request, ratings, candidates, chosen, users, begin)
            if attacked.risk is not None and published is not None and published.shadows:
                method = str(published.manifest.settings["method"])
                risk = attacked.risk.with_membership(published.shadows, method)
                attacked = attacked._replace(risk=risk)
            disclosed = measure_sensitive(
                ratings, candidates, items, attacked.attacks, opened, published, users, seed
            )
            inferred, identifying = [], []
            if declared is not None:
                begin(work_estimates.ATTRIBUTES)
                named = {name: declared.columns[name] for name in request.attribute or ()}
                identifying = [name for name, texts in named.items() if is_identifier(texts)]
                inferable = {name: named[name] for name in named if name not in identifying}
                inferred = infer_user_attributes(ratings, inferable, opened, seed)
                more = attack_knowing(
                    request, ratings, candidates, attacked.attacks, users, declared
                )
                attacked = attacked._replace(attacks=[*attacked.attacks, *more])
    return Audit(
        ratings=original,
        reading=read,
        suspects=suspects,
        published=published,
        knowledge=known,
        tunings=tunings,
        suspects_in_release=in_release,
        sensitive=disclosed,
        item_matches=matches,
        attribute_inference=inferred,
        identifying_attributes=identifying,
        options=request.repeated_by(declared),
        **attacked._asdict(),
    )


def costs_of(
    request: AuditRequest,
    ratings: Ratings,
    n_adversaries: int,
    n_targets: int,
    opened: OpenedRelease | None = None,
) -> dict[str, float]:
    """Estimate the parts of the work."""
    of_release = 0.0
    if opened is not None:
        parts_of_it = work_estimates.of_attack(
            *(ratings, opened.table, opened.manifest, n_adversaries, n_targets), has_content=True
        )
        of_release = sum(parts_of_it.values())
    return work_estimates.of_audit(
        *(ratings, n_adversaries, n_targets, request.draws),
        curves=request.curves,
        n_shadows=request.shadows or 0,
        n_attributes=len(request.attribute or ()),
        release=of_release,
    )


@brief
class TableAttacks(NamedTuple):
    """Results of attacks on a table; the attributes are those of `Audit`."""

    attacks: list[Outcome]
    figures: list[Figure]
    checks: list[Check]
    sufficient: list[Sufficient]
    risk: Risk | None
    graphs: list[GraphAttack]
    deanonymized: list[Deanonymized]


def attack_table(
    request: AuditRequest,
    ratings: Ratings,
    candidates: Candidates,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    begin: Callable[[str], object],
) -> TableAttacks:
    """Run all attacks on a table."""
    draws, seed, curves = request.draws, request.seed, request.curves
    begin(work_estimates.TARGETS)
    attacks = [
        run_attack(ratings, candidates, adversary, targets, draws=draws, seed=seed)
        for adversary in track(adversaries, "Adversaries", share=1)
    ]
    adversaries = [outcome.adversary for outcome in attacks]  # with their eccentricities
    begin(work_estimates.CURVES)
    figures = draw_figures(ratings, candidates, targets, seed) if curves else []
    begin(work_estimates.SUFFICIENT)
    sufficient: list[Sufficient] = []
    if curves:
        sufficient = find_sufficient(ratings, candidates, adversaries, targets, seed)
    begin(work_estimates.RISK)
    risk = measure_risk(ratings, candidates, attacks, seed) if curves else None
    begin(work_estimates.CHECKS)
    checks = check_attack(ratings, seed, candidates)
    begin(work_estimates.GRAPHS)
    graphs = attack_graphs(ratings, None, targets, seed, candidates)
    begin(work_estimates.SIMILARITY)
    deanonymized = measure_deanonymized(ratings, candidates, attacks, targets, seed)
    return TableAttacks(attacks, figures, checks, sufficient, risk, graphs, deanonymized)


def attack_knowing(
    request: AuditRequest,
    ratings: Ratings,
    candidates: Candidates,
    attacks: list[Outcome],
    targets: NDArray[np.int64],
    declared: UserAttributes,
) -> list[Outcome]:
    """Repeat attacks on a table by adversaries who also know the attributes of their targets."""
    alike = group_alike(candidates, declared.columns, targets)
    note = f"The adversary also knows attributes of the target: {listed(declared.columns)}."
    known = [
        replace(each.adversary.noted(note), name=f"{each.adversary.name} with attributes".strip())
        for each in attacks
    ]
    draws, seed = request.draws, request.seed
    return [
        run_attack(ratings, candidates, each, targets, draws=draws, seed=seed, alike=alike)
        for each in known
    ]


def fit_adversary(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Remove knowledge and errors that cannot exist in this table."""
    if ratings.days is None:
        adversary = without_dates(ratings, adversary, "no column of dates was recognized")
    adversary = with_likes(ratings, adversary)
    # A preset is adapted to any table; a custom adversary is used as given.
    if adversary.name not in PRESETS:
        return adversary
    return without_ratings(ratings, with_wrong_items(ratings, adversary))


def _opened(release: Any) -> AbstractContextManager[Any]:
    """Return a context with the folder of a release in memory, or with what was given."""
    return release.open_folder() if isinstance(release, PublishedRows) else nullcontext(release)


def _match_items(
    ratings: Ratings, known: Reading | None, options: MatchOptions
) -> ItemMatches | None:
    """Match the items of an auxiliary file, or read the matches; None if ids are the same."""
    if known is None or not options.files():
        return None
    if not ratings.scale.ordered:
        raise RecveilError(
            "item_titles (--item-titles), item_matches (--item-matches): not with nominal labels; "
            "use the table's item ids",
            code="option.unsupported",
        )
    if options.item_matches is not None:
        return ItemMatches.read(options.item_matches)
    return find_matches(
        ratings.items,
        known.ratings.items,
        item_titles=options.item_titles,
        auxiliary_titles=options.auxiliary_titles,
        least=CERTAINTY if options.match_certainty is None else options.match_certainty,
    )


@brief
class _OtherFiles(NamedTuple):
    """Files next to the table; None for those that were not given."""

    known: Reading | None
    public: Catalogue | None
    sensitive: SensitiveItems | None
    users: UserAttributes | None


def _read_files(request: AuditRequest, table: Reading) -> _OtherFiles:
    """Read the other files with those reading options of the table that fit."""
    ratings, given = table.ratings, request.reading.get("user") is not None
    columns = [column.name for column in table.columns if given and column.role == "user"]
    user = next((name for name in columns if isinstance(name, str)), None)
    if request.sensitive is not None and not ratings.scale.ordered:
        raise RecveilError(
            "sensitive (--sensitive): not with nominal labels; leave it out",
            code="option.unsupported",
        )
    reading: Mapping[str, Any] = request.reading
    if ratings.scale.labels:  # other files use the same words, coded by the same numbers
        reading = {**reading, "scale": ratings.scale}
    return _OtherFiles(
        None if request.auxiliary is None else _knowledge(request.auxiliary, reading),
        None if request.item_catalog is None else _catalogue(request.item_catalog, reading),
        None if request.sensitive is None else read_sensitive(request.sensitive, ratings.items),
        None
        if request.users is None
        else read_users(*(request.users, ratings.users, _attributes_of(request), user)),
    )


def _attributes_of(request: AuditRequest) -> list[str]:
    """Return the attributes to infer, and those that adversaries know, as the release has them."""
    columns = None
    if request.release is not None:
        columns = known_manifest(Path(request.release)).user_columns
    names = dict.fromkeys([*(request.attribute or ()), *(columns.names if columns else ())])
    if not names:
        check_attributes(request.users, request.attribute)
    return [*names]


def _knowledge(auxiliary: str | PathLike[str] | Any, reading: Mapping[str, Any]) -> Reading:
    if not isinstance(auxiliary, str | PathLike):
        table = frame_of(auxiliary).table  # once, because some frames can be read only once
        return read_knowledge(table, **reading_of(table, reading))
    with file_next_to_table("auxiliary", auxiliary) as file:
        return read_knowledge(file, **reading_of(file, reading))


def _catalogue(path: str | PathLike[str] | Any, reading: Mapping[str, Any]) -> Catalogue:
    if not isinstance(path, str | PathLike):
        table = frame_of(path).table
        public = understand(table, times=False, **reading_of(table, reading))
        return Catalogue(public.ratings, public.name)
    with file_next_to_table("item_catalog", path) as file:
        public = understand(file, times=False, **reading_of(file, reading))
    return Catalogue(public.ratings, public.name)
