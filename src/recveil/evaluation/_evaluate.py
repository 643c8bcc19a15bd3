"""Evaluation of the utility and disclosure of a release, from files."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from recveil.evaluation.evaluator import Evaluator
from recveil.evaluation.headline import headline
from recveil.evaluation.nominal import liked_words
from recveil.evaluation.nominal_evaluation import WordsEvaluation, WordsEvaluator
from recveil.evaluation.results import Evaluation
from recveil.evaluation.similar_users import NullRule
from recveil.evaluation.split import Matched, Split, match_held_out, split_ratings
from recveil.io import Reading, understand
from recveil.io.ingestion import reject_unknown_keywords
from recveil.io.pipes import reject_two_standard_inputs, require_path
from recveil.methods.registry import same_again
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.feedback import option_of
from recveil.ratings.ratings import PREDICTED, reject_likes
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import THE_REST, parts
from recveil.runtime.safe_repr import Grid, brief

_READING, _MAKING = "Reading ratings", "Making a release"


@brief
class Evaluated(NamedTuple):
    """What was read, and what was found out.

    Attributes
    ----------
    evaluation : Evaluation or WordsEvaluation
        The latter of words without an order.
    train : Ratings
        What the evaluated release was made from.
    readings : tuple of Reading
        What was understood of each file.
    release : str
        The name of the folder.
    share : float or None
        The share that was held out here; None if the test ratings came in a file. Then the
        evaluated release was made here from the rest, as the folder says that its own was made.
    matched : Matched or None
        Which ratings of the test file could be used.
    seed : int
    sha256 : str or None
        Of the folder's release.json.
    """

    evaluation: Evaluation | WordsEvaluation
    train: Ratings
    readings: tuple[Reading, ...]
    release: str
    share: float | None
    matched: Matched | None
    seed: int
    sha256: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data: `Evaluation.to_json`, and how it came about."""
        left_out = self.matched and {
            "unknown_users": self.matched.unknown_users,
            "unknown_items": self.matched.unknown_items,
            "unknown_cells": self.matched.left_out,
            "also_in_training": self.matched.also_in_training,
        }
        plain = self.evaluation.to_json()
        return {
            "headline": headline(plain),
            "release": self.release,
            "release_sha256": self.sha256,
            "made_anew": self.share is not None,
            "split": self.share,
            "seed": self.seed,
            "left_out": left_out,
            "readings": [{"source": read.name, **read.to_dict()} for read in self.readings],
            **plain,
        }

    def _facts(self) -> dict[str, object]:
        return self.evaluation._facts()

    def _tables(self) -> list[Grid]:
        return self.evaluation._tables()


def evaluate(
    release: str | PathLike[str],
    source: str | PathLike[str] | Ratings | Any | None = None,
    *,
    train: str | PathLike[str] | Ratings | Any | None = None,
    test: str | PathLike[str] | Ratings | Any | None = None,
    split: float | None = None,
    null_rule: NullRule = "zero",
    targets: int = 1_000,
    seed: int = 0,
    with_membership: bool = True,
    liked: str | Sequence[str] | None = None,
    **reading: Any,
) -> Evaluated:
    r"""Evaluate a release folder on held-out ratings.

    Give `train` and `test`, or `source` and `split`.

    Parameters
    ----------
    release : path
        The published folder. With `train`, a private folder next to it maps users to rows.
    train, test : path, Ratings, or data frame, optional
        The table that the release was made from, and one with other ratings of the same users.
    source : path, Ratings, or data frame, optional
        A table of ratings to split. A release of all of it includes the held-out ratings and cannot
        be evaluated on them, so another release is made in memory from the rest with the public
        settings of `release`, and evaluated instead.
    split : float, optional
        The share of each user's ratings that is held out.
    null_rule
        See `target_deviation`.
    targets : int
        Number of targets per adversary.
    seed : int
        Fixes every random choice.
    with_membership
        See `Evaluator`.
    liked : str or sequence of str, optional
        Nominal labels that mean that a user liked the item, such as "up,love". Then lists are
        evaluated, too, on held-out items with such a label.
    **reading
        Passed to `understand`, for all tables. The scale defaults to the release's own.

    Raises
    ------
    RecveilError
        If there are too many or too few files, or they cannot be read or do not belong together; if
        all training ratings are equal; if the release was made from more than the training ratings,
        where this can be detected; or, with `split`, if its settings do not suffice to make another
        release.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.methods import anonymize
    >>> from recveil.datasets import generate
    >>> with TemporaryDirectory() as folder:
    ...     file, output = Path(folder, "ratings.csv"), Path(folder, "release")
    ...     _ = generate(file, users=80, items=40, ratings=900)
    ...     _ = anonymize(file, output, k=5, seed=1)
    ...     found = evaluate(output, file, split=0.2, targets=20, with_membership=False)
    >>> found.to_json()["recipient"]["release"]["rmse"] > 0
    True
    """
    reject_unknown_keywords("evaluate", reading, "k", "people_in", "times")
    require_path("a release folder", release=release)
    _check_tables(source=source, train=train, test=test, split=split)
    reject_two_standard_inputs(source=source, train=train, test=test)
    folder = Path(release).resolve()
    manifest = known_manifest(folder)
    named = liked_words(liked, manifest.scale)
    if null_rule != "zero" and not manifest.scale.ordered:
        raise RecveilError(
            f"null_rule (--null-rule) is {null_rule}, but of words without an order no error is "
            f"told: a cell without a word counts as wrong; leave it out",
            code="option.unsupported",
        )
    # A release that cannot be made again is refused before any work.
    anonymizer = None if split is None else _made_like(manifest, folder, seed)
    with parts(
        "Evaluating", {_READING: 1, _MAKING: 0 if split is None else 8, THE_REST: 90}
    ) as begin:
        begin(_READING)
        matched = None
        if split is not None:
            readings: tuple[Reading, ...] = (_read(source, manifest.scale, reading),)
            divided = split_ratings(readings[0].ratings, split, seed)
        else:
            readings = tuple(_read(table, manifest.scale, reading) for table in (train, test))
            matched = match_held_out(readings[0].ratings, readings[1].ratings)
            divided = Split(readings[0].ratings, matched.test)
        if not divided.train.is_unary:
            reject_likes(divided.train, PREDICTED)
        begin(_MAKING)
        judged = folder if anonymizer is None else anonymizer.anonymize(divided.train)
        begin(THE_REST)
        evaluator: Evaluator | WordsEvaluator
        if manifest.scale.ordered:
            evaluator = Evaluator(
                divided, null_rule, targets, seed, with_membership=with_membership
            )
        else:
            evaluator = WordsEvaluator(
                divided, targets, seed, with_membership=with_membership, liked=named
            )
        found = evaluator.evaluate(judged, anonymizer=anonymizer)
    name, sha256 = folder.name, manifest.sha256
    return Evaluated(found, divided.train, readings, name, split, matched, seed, sha256)


def _check_tables(*, source: Any, train: Any, test: Any, split: float | None) -> None:
    """Refuse any but two tables, or one with the share to hold out of it."""
    given = tuple(part is not None for part in (source, split, train, test))
    if given not in ((False, False, True, True), (True, True, False, False)):
        raise RecveilError(
            "expected either the file that the release was made from and one of test ratings "
            "(train and test), or one file and the share to hold out of it (source and split)",
            code="option.conflict",
        )


def _read(table: Any, scale: RatingScale, reading: Mapping[str, Any]) -> Reading:
    """Read a table on the release's scale, unless it has another one or one is asked for."""
    # Ratings in memory have a scale of their own already.
    own: dict[str, Any] = {}
    is_specified = any(reading.get(name) is not None for name in ("scale", "order", "words"))
    if not isinstance(table, Ratings) and not is_specified:
        own = {"likes": reading.get("counts") is None} if scale.unary else {"scale": scale}
    found = understand(table, times=False, **{**reading, **own}).settled()
    if scale.unary != found.ratings.is_unary and (scale.unary or scale.range):
        raise RecveilError(
            f"{found.name}: {'likes' if found.ratings.is_unary else 'ratings'}, where the release "
            f"holds {'likes' if scale.unary else 'ratings'}; give what it was made from",
            code="release.mismatch",
        )
    found_on = found.ratings.scale
    if (found_on.words or scale.words) and found_on != scale:
        raise RecveilError(
            f"{found.name}: read on the scale {found_on}, where the release has {scale}; name the "
            f"same words in the same order ({option_of(scale)}), or nothing",
            code="release.mismatch",
        )
    return found


def _made_like(manifest: Manifest, folder: Path, seed: int) -> Anonymizer:
    """Return an anonymizer with the public settings of a release."""
    anonymizer = same_again(manifest, seed)
    if anonymizer is None:
        raise RecveilError(
            f"{folder.name}: its settings do not say how to make another such release, for "
            f"instance because people have privacy levels of their own; split the ratings "
            f"yourself, make a release of one part, and give both parts as train and test",
            code="release.unsupported",
        )
    return anonymizer
