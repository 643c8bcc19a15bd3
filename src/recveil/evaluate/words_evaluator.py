"""Words evaluator: many releases of the same words without an order, on the same ground."""

from functools import cached_property

from recveil.attack import PRESETS, Anonymizer
from recveil.audit import durations
from recveil.audit.paired import OF_PAIRS
from recveil.errors import RecveilError
from recveil.evaluate.disclosure import (
    Opened,
    Released,
    anonymizer_of,
    disclose_links,
    disclose_words,
)
from recveil.evaluate.gain import kept, raw_lists
from recveil.evaluate.liked_lists import serve_liked
from recveil.evaluate.recipient import Served
from recveil.evaluate.split import Split
from recveil.evaluate.training import TrainingTable, UserRows
from recveil.evaluate.words_evaluation import UNNAMED, Lists, WordsEvaluation
from recveil.evaluate.words_served import WordsServed, serve_words, words_gain, words_kept
from recveil.evaluate.words_told import tell_words
from recveil.progress import parts

_TELL, _LIST, _ATTACK = "Telling words", "Making lists", "Attacking it"
# What they take, in microseconds for a rating and a label; about.
_TELLING, _LISTING = 10.0, 130.0

_NO_ERROR = (
    "Words without an order are right or wrong; no error is told, and no distance. A cell of which "
    "somebody's row has no word counts as wrong."
)
_NO_LISTS = (
    f"Lists are not judged: {UNNAMED}. Nor are lists of whatever somebody gives a word: all rows "
    f"of shared words hold the same items, so that there is nothing to learn such lists from. That "
    f"is no promise that nobody can tell who chose what."
)
_UNKNOWN = (
    "Nobody knows whose rows these are ({why}), so that what stands in people's own rows, attacks "
    "and links cannot be told."
)
_NO_MEMBERSHIP = (
    "Whether an adversary can tell who was in the data was not measured: the release does not say "
    "how to make another such one."
)


class WordsEvaluator:
    """Judges releases of words that were made from the training part of a split.

    Parameters
    ----------
    split : Split
        Of words without an order.
    n_targets, seed, with_membership
        As in `recveil.evaluate.Evaluator`.
    liked : tuple of str
        The words that count as liked, from `liked_words`; without any, lists are not judged.

    Examples
    --------
    >>> from recveil.anonymize.shared_words import SharedWords
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluate.split import split_ratings
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("bad,so,good", ordered=False)
    >>> words = make_ratings(60, 30, 900, seed=1, scale=RatingScale(1, 3, 1)).with_scale(scale)
    >>> split = split_ratings(words)
    >>> evaluator = WordsEvaluator(split, n_targets=20, with_membership=False, liked=("good",))
    >>> found = evaluator.evaluate(SharedWords(5, seed=1).anonymize(split.train))
    >>> found.n_people, found.told.right.trials > 50, found.lists.liked
    (60, True, ('good',))
    """

    def __init__(
        self,
        split: Split,
        n_targets: int = 1_000,
        seed: int = 0,
        *,
        with_membership: bool = True,
        liked: tuple[str, ...] = (),
    ) -> None:
        if n_targets < 1:
            raise RecveilError(
                f"n_targets is {n_targets}; expected at least 1", code="option.value"
            )
        self.split = split
        self.n_targets = n_targets
        self.seed = seed
        self.with_membership = with_membership
        self.liked = liked

    @cached_property
    def raw(self) -> WordsServed:
        """How well words are told that were learnt from the raw training table."""
        return self._serve(self._raw_table)

    @cached_property
    def raw_lists(self) -> Served:
        """How good lists are that were learnt from it."""
        return self._list(self._raw_table)

    @cached_property
    def _raw_table(self) -> TrainingTable:
        return TrainingTable.from_ratings(self.split.train)

    @cached_property
    def _people(self) -> UserRows:
        return UserRows.from_ratings(self.split.train)

    def _serve(self, table: TrainingTable) -> WordsServed:
        return serve_words(table, self._people, self.split.test, self.seed)

    def _list(self, table: TrainingTable) -> Served:
        return serve_liked(table, self._people, self.split.test, self.liked, self.seed)

    def evaluate(
        self, release: Released, *, anonymizer: Anonymizer | None = None
    ) -> WordsEvaluation:
        """Judge one release; the parameters are those of `recveil.evaluate.Evaluator.evaluate`."""
        train, test = self.split
        opened = Opened.open(release, train)
        with parts("Judging the release", self._costs(opened)) as begin:
            begin(_TELL)
            served = self._serve(opened.table)
            begin(_LIST)
            lists = self._lists_of(opened) if self.liked else None
            begin(_ATTACK)
            chosen = anonymizer if self.with_membership else None
            if self.with_membership and chosen is None:
                chosen = anonymizer_of(opened, self.seed)
            attacked = disclose_words(train, opened, self.n_targets, self.seed, chosen)
        notes = [_NO_ERROR, *([] if self.liked else [_NO_LISTS])]
        notes += [] if attacked is None else [OF_PAIRS]
        if opened.released is None:
            notes.append(_UNKNOWN.format(why=opened.unknown))
        elif self.with_membership and chosen is None:
            notes.append(_NO_MEMBERSHIP)
        notes += [] if attacked is None else attacked.warnings()
        return WordsEvaluation(
            told=None if opened.released is None else tell_words(self.split, opened.released),
            raw=self.raw,
            release=served,
            raw_gain=words_gain(self.raw, self.raw, self.seed),
            release_gain=words_gain(self.raw, served, self.seed),
            kept=words_kept(self.raw, served, seed=self.seed),
            best_kept=words_kept(self.raw, served, best=True, seed=self.seed),
            lists=lists,
            disclosure=attacked,
            links=disclose_links(train, opened),
            n_people=train.n_users,
            n_cells=test.users.size,
            notes=tuple(notes),
        )

    def _lists_of(self, opened: Opened) -> Lists:
        raw, release = self.raw_lists, self._list(opened.table)
        return Lists(
            liked=self.liked,
            raw=raw,
            release=release,
            whole=raw_lists(raw, seed=self.seed),
            kept=kept(raw, release, seed=self.seed),
            best_kept=kept(raw, release, best=True, seed=self.seed),
        )

    def _costs(self, opened: Opened) -> dict[str, float]:
        """Return what the parts take, about."""
        train, table = self.split.train, opened.released
        labels = train.n_ratings + opened.table.rows.indices.size
        attack = (
            {}
            if table is None
            else durations.of_attack(
                train, table, opened.manifest, len(PRESETS), tell_content=False
            )
        )
        return {
            _TELL: _TELLING * labels,
            _LIST: _LISTING * labels if self.liked else 0.0,
            _ATTACK: sum(attack.values()),
        }
