"""Co-rated making: k-coRating by executors: GeCom's groups, and fills by the item's mean."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from recveil.methods.base import check_k, check_scale, check_seed, drawn_seed
from recveil.methods.k_corating.anonymizer import KCoRater
from recveil.methods.predictive.anonymizer import Homogenize, label_step
from recveil.methods.release_summary import k_corating_as_json, rows_as_json
from recveil.publish.size_estimate import Expected, Kind, expect
from recveil.ratings.ratings import PUBLISHED
from recveil.release.claim import Claim
from recveil.release.pseudonyms import fresh_prefix
from recveil.release.records import Groups
from recveil.release.sides import FileFormat, Layout, Private, Published, Sides
from recveil.release.specs.k_corating import K_CORATING
from recveil.release.specs.predictive import PREDICTIVE, SPARK_GROUPING, SPARK_PREDICTOR
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.spark.clusters import gather_corated, gather_groups
from recveil.spark.embeddings import (
    PULL,
    RANK,
    REFINED,
    ROUNDS,
    RatedItems,
    embed_users,
    learn_factors,
    refine_factors,
)
from recveil.spark.group_rows import FilledRows, GroupsByExecutors, KnownMeans, SharedRows, bare
from recveil.spark.input import Lake
from recveil.spark.maker import Made, Ready
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    QueriedItemSums,
    distribute_users,
    number_users,
)

# What of the local method's options is offered; all else is refused by its name.
_OFFERED_CLUSTERERS = ("homogenize", "round_labels")
# What a release takes is worked out of so many groups, and the others are like them.
_SOME_GROUPS = 10_000


class GroupMaking:
    """Gathers people who rate alike, and gives each group one row."""

    def __init__(self, k: int | None, given: Mapping[str, Any], seed: int | None) -> None:
        check_k(k)
        check_seed(seed)
        usual = {"labels": "rated", "b": 1, "l": 1}
        for name, value in given.items():
            if name not in _OFFERED_CLUSTERERS and usual.get(name) != value:
                raise RecveilError(
                    f"{name} (--{name.replace('_', '-')}): not by Spark yet, with k (--k); leave "
                    f"it out, or leave engine (--engine) out",
                    code="option.unsupported",
                )
        self._k = int(k or 0)
        self._homogenize: Homogenize = given.get("homogenize", "padded")
        if self._homogenize not in get_args(Homogenize):
            raise RecveilError(
                f"homogenize is {quoted(self._homogenize)}; expected 'padded' or 'simple'",
                code="option.value",
            )
        self._round_labels = given.get("round_labels", "usual")
        self._seed = drawn_seed(seed)

    def gather(self, lake: Lake) -> Ready:
        """Refuse what would tell of few people, and gather all of them on all items."""
        reject_table(lake)
        label_step(self._round_labels, lake.scale)
        people = people_of(lake, self._k)
        return Ready(people, lambda: self._make(lake, people))

    def _make(self, lake: Lake, people: DistributedUsers) -> Made:
        """Learn what people like; they are gathered when their rows are to be written."""
        numbered, items = number_users(people), RatedItems.of(people)
        secret = numbered.secret(self._seed)
        rng = np.random.default_rng(secret)
        learned = learn_factors(people, numbered, items, int(rng.integers(2**63)))
        known = refine_factors(people, items, learned)
        padded = self._homogenize == "padded"
        published = Published(
            claim=Claim(PREDICTIVE.claim_of({}), self._k, levels=False, b=1, l=1),
            items=lake.items,
            scale=lake.scale,
            settings={
                "method": PREDICTIVE.title,
                "homogenize": self._homogenize,
                "predictor": SPARK_PREDICTOR,
                "grouping": SPARK_GROUPING,
                "label_step": label_step(self._round_labels, lake.scale),
            },
            n_users=people.n_people,
            prefix=prefix_of(people, rng),
            blocks=lambda: iter(()),
            default_layout="groups" if padded else "users",
            expect=partial(self._expect, lake, people, numbered) if padded else None,
        )
        settings = {
            "predictor": {
                "rank": RANK,
                "rounds": ROUNDS,
                "regularization": PULL,
                "refined": REFINED,
            },
            "grouping": {"min_size": self._k},
        }
        private = Private(np.empty(0), Groups.empty(), self._seed, settings)
        release = Sides(published, private)
        rows = SharedRows(
            bare(published),
            self._homogenize,
            published.settings["label_step"],
            known if padded else None,
            self._k,
        )

        def groups() -> Any:
            placed = embed_users(people, numbered, known)
            return gather_groups(people, placed, self._k, secret)

        by = GroupsByExecutors(people, numbered, groups, rows)

        def told() -> list[str]:
            shown = Sides(published, replace(private, lone_ratings=by.given))
            return rows_as_json(shown, people.n_people, int(items.support.max()))

        return Made(release, by, told)

    def _expect(
        self,
        lake: Lake,
        people: DistributedUsers,
        numbered: NumberedUsers,
        layout: Layout,
        file_format: FileFormat,
    ) -> Expected:
        """Say what padded rows will take: one of some thousands of groups, times all of them."""
        return expect_groups(
            lake,
            people.n_people,
            numbered.mean_length,
            "padded",
            n_groups=max(1, people.n_people // self._k),
            width=lake.items.size,
            step=label_step(self._round_labels, lake.scale),
            layout=layout,
            file_format=file_format,
        )


def people_of(lake: Lake, k: int) -> DistributedUsers:
    """Gather all people of a table on all of its items."""
    places = np.arange(lake.items.size)
    people = distribute_users(lake, QueriedItemSums(lake.items, places, lake.items.size))
    if people.n_people < k:
        people.let_go()
        raise RecveilError(
            f"{describe_count(people.n_people, 'user')} "
            f"cannot form a group of k = {k}; lower k, or add users",
            code="table.too-few-users",
        )
    return people


def expect_groups(
    lake: Lake,
    n_people: int,
    mean_length: float,
    kind: Kind,
    *,
    n_groups: int,
    width: float,
    step: float | None,
    layout: Layout,
    file_format: FileFormat,
) -> Expected:
    """Say what the rows of groups will take: those of some thousands, times all of them."""
    some = min(n_groups, _SOME_GROUPS)
    share = some / n_groups
    shape = _Shape(lake, round(n_people * share), share, mean_length)
    found = expect(
        shape,  # type: ignore[arg-type]  # what is asked of ratings is there
        kind,
        np.full(some, width),
        np.full(some, n_people / n_groups),
        layout,
        file_format,
        step,
    )
    return found._replace(
        labels=round(found.labels / share),
        ratings=lake.n_ratings,
        bytes=round(found.bytes / share),
        most_bytes=round(found.most_bytes / share),
        seconds=found.seconds / share,
    )


class _Shape:
    """What is asked of ratings to tell what a release of them will take."""

    def __init__(self, lake: Lake, n_users: int, share: float, mean_length: float) -> None:
        self.is_unary = lake.scale.unary
        self.n_users, self.n_items = n_users, lake.items.size
        self.n_ratings = round(lake.n_ratings * share)
        self.items, self.scale = lake.items, lake.scale
        self.users = np.array(["u" * round(mean_length)], dtype=object)


def reject_table(lake: Lake, *, takes_likes: bool = False) -> None:
    """Refuse likes, unless a method takes them, equal ratings, and a scale that nobody named.

    Where the scale was read off the ratings, one person's may be its end: whether they are, this
    process would have to look at all of them.
    """
    check_scale(lake.scale)
    if lake.scale.unary:
        if takes_likes:
            return
        raise RecveilError(
            "these are likes, and rows of groups publish ratings, which likes have none of; draw "
            "people with epsilon (--epsilon 3), or leave engine (--engine) out",
            code="table.kind",
        )
    if lake.values.size == 1:
        raise RecveilError(
            f"all {lake.n_ratings:,} ratings are {lake.values[0]:g}: likes, not supported yet as "
            f"ratings; {PUBLISHED}; read them as likes (--likes)",
            code="table.kind",
        )
    if lake.scale.inferred:
        raise RecveilError(
            f"scale (--scale): {lake.scale} was read off the ratings, and the lowest and highest "
            f"may be one person's; Spark does not look whose, so name the scale, such as --scale "
            f"{lake.scale}",
            code="scale.inferred",
        )


def prefix_of(people: DistributedUsers, rng: np.random.Generator) -> str:
    """Draw what pseudonyms begin with, until no user's id does."""
    while True:
        prefix = fresh_prefix(np.empty(0), rng)
        if not people.frame.where(people.frame["user"].startswith(prefix)).limit(1).count():
            return prefix


# Of these options one value is offered; all else is refused by its name.
_OFFERED = {"fill": "item-mean", "grouping": "gecom"}


class CoRatedMaking:
    """Fills rows up until at least k people rated the same items; ratings stay as they are."""

    def __init__(self, k: int | None, given: Mapping[str, Any], seed: int | None) -> None:
        check_seed(seed)
        for name, usual in {**_OFFERED, "trust": None}.items():
            if (value := given.get(name, usual)) != usual:
                told = f" {quoted(value)}" if isinstance(value, str) else ""
                raise RecveilError(
                    f"{name} (--{name}){told}: not by Spark yet, where fills are the item-mean, "
                    f"and groups are those of gecom; leave it out, or leave engine (--engine) out",
                    code="option.unsupported",
                )
        self._seed = drawn_seed(seed)
        self._maker = KCoRater(k or 0, seed=self._seed, **given)
        self._maker.check_options()

    def gather(self, lake: Lake) -> Ready:
        """Refuse what would tell of few people, and gather all of them on all items."""
        reject_table(lake, takes_likes=True)
        self._maker.check_labels(lake.scale)
        people = people_of(lake, self._maker.k)
        return Ready(people, lambda: self._make(lake, people))

    def _make(self, lake: Lake, people: DistributedUsers) -> Made:
        """Find the groups, and what fills are; rows are made when they are to be written."""
        maker, k = self._maker, int(self._maker.k)
        numbered = number_users(people)
        secret = numbered.secret(self._seed)
        groups, cells = gather_corated(people, numbered, lake.n_ratings, k, secret)
        settings = maker.public_settings(lake.scale)
        published = Published(
            claim=Claim(K_CORATING.claim_of(settings), k),
            items=lake.items,
            scale=lake.scale,
            settings=settings,
            n_users=people.n_people,
            prefix=prefix_of(people, np.random.default_rng(secret)),
            blocks=lambda: iter(()),
            default_layout="users",
            expect=lambda layout, file_format: expect_groups(
                lake,
                people.n_people,
                numbered.mean_length,
                "co-rated",
                n_groups=int(groups.groups.sum()),
                width=cells / people.n_people,
                step=maker.step(lake.scale),
                layout=layout,
                file_format=file_format,
            ),
        )
        rows = FilledRows(
            bare(published),
            maker.step(lake.scale),
            KnownMeans.of(people),
            k,
            maker.round_fills,
            maker.protect,
            secret,
        )
        used = partial(_used, lake)
        by = GroupsByExecutors(people, numbered, lambda: groups, rows, used=used)
        private = Private(np.empty(0), Groups.empty(), self._seed)

        def told() -> list[str]:
            shown = Sides(published, replace(private, settings=used(by.n_labels)))
            return k_corating_as_json(shown, lake.n_ratings)

        return Made(Sides(published, private), by, told)


def _used(lake: Lake, n_labels: int) -> dict[str, Any]:
    """Return what the owner is to know of so many labels, as of a release made here."""
    fill = {} if lake.scale.unary else {"fill": {"name": "ItemMean"}}
    return {"filled_cells": n_labels - lake.n_ratings, "cells": n_labels, **fill}
