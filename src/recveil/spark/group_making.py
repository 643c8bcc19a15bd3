"""The predictive method and k-coRating by executors."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from recveil.io import read_trust
from recveil.io.pipes import require_path
from recveil.io.side_tables import StatedTrust
from recveil.methods.base import check_k, check_scale, check_seed, seed_or_random
from recveil.methods.components import parameters_of
from recveil.methods.k_corating.anonymizer import KCoRater
from recveil.methods.k_corating.fills import count_trust, learn
from recveil.methods.predictive.anonymizer import Homogenize, value_step
from recveil.methods.release_summary import CoRatedSummary, PredictiveSummary, ReleaseSummary
from recveil.publish.size_estimate import Expected, Kind, expect
from recveil.ratings.ratings import PUBLISHED
from recveil.release.claim import Claim
from recveil.release.records import Groups, fresh_prefix
from recveil.release.sides import FileFormat, Layout, Private, Published, Sides
from recveil.release.specs.k_corating import K_CORATING
from recveil.release.specs.predictive import PREDICTIVE, SPARK_GROUPING, SPARK_PREDICTOR
from recveil.runtime.errors import RecveilError, describe_count, option_named, quoted
from recveil.spark.clusters import gather_corated, gather_groups
from recveil.spark.embeddings import (
    RANK,
    REFINED,
    REGULARIZATION,
    ROUNDS,
    RatedItems,
    embed_users,
    learn_factors,
    refine_factors,
)
from recveil.spark.group_rows import FilledRows, GroupWriter, ItemMeans, SharedRows, bare
from recveil.spark.input import Lake
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    QueriedItemSums,
    ReleasePlan,
    distribute_users,
    number_users,
    ratings_of,
)

# Options of the local method that are supported; others are rejected by name.
_SUPPORTED_OPTIONS = ("homogenize", "round_values")
# The random stream of fills.
_FILLS = 41
# The number of groups from which the size of a release is estimated.
_SOME_GROUPS = 10_000


class GroupMaking:
    """Clusters users with similar embeddings, and publishes one row per group."""

    def __init__(self, k: int | None, options: Mapping[str, Any], seed: int | None) -> None:
        check_k(k)
        check_seed(seed)
        usual = {"values": "rated", "b": 1, "l": 1}
        for name, value in options.items():
            if name not in _SUPPORTED_OPTIONS and usual.get(name) != value:
                raise RecveilError(
                    f"{option_named(name)}: not by Spark yet, with k (--k); leave "
                    f"it out, or leave engine (--engine) out",
                    code="option.unsupported",
                )
        self._k = int(k or 0)
        self._homogenize: Homogenize = options.get("homogenize", "padded")
        if self._homogenize not in get_args(Homogenize):
            raise RecveilError(
                f"homogenize (--homogenize) is {quoted(self._homogenize)}; expected "
                f"'padded' or 'simple'",
                code="option.value",
            )
        self._round_labels = options.get("round_values", "usual")
        self._seed = seed_or_random(seed)

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], ReleasePlan]]:
        """Reject unsuitable tables, and gather the users on all items."""
        reject_table(lake)
        value_step(self._round_labels, lake.scale)
        users = gather_users(lake, self._k)
        return users, lambda: self._make(lake, users)

    def _make(self, lake: Lake, users: DistributedUsers) -> ReleasePlan:
        """Learn item factors; groups are gathered when rows are written."""
        numbered, items = number_users(users), RatedItems.of(users)
        secret = numbered.secret(self._seed)
        rng = np.random.default_rng(secret)
        learned = learn_factors(users, numbered, items, int(rng.integers(2**63)))
        item_factors = refine_factors(users, items, learned)
        padded = self._homogenize == "padded"
        step = value_step(self._round_labels, lake.scale)
        published = Published(
            claim=Claim(PREDICTIVE.claim_of({}), self._k, levels=False, b=1, l=1),
            items=lake.items,
            scale=lake.scale,
            settings={
                "method": PREDICTIVE.title,
                "homogenize": self._homogenize,
                "predictor": SPARK_PREDICTOR,
                "grouping": SPARK_GROUPING,
                "value_step": step,
            },
            n_users=users.n_users,
            prefix=prefix_of(users, rng),
            blocks=lambda: iter(()),
            default_layout="groups" if padded else "users",
            expect=partial(
                expect_groups,
                lake,
                users.n_users,
                numbered.mean_length,
                "padded",
                n_groups=max(1, users.n_users // self._k),
                width=lake.items.size,
                step=step,
            )
            if padded
            else None,
        )
        settings = {
            "predictor": {
                "rank": RANK,
                "rounds": ROUNDS,
                "regularization": REGULARIZATION,
                "refined": REFINED,
            },
            "grouping": {"min_size": self._k},
        }
        private = Private(np.empty(0), Groups.empty(), self._seed, settings)
        release = Sides(published, private)
        rows = SharedRows(
            bare(published),
            self._homogenize,
            step,
            item_factors if padded else None,
            self._k,
        )

        def groups() -> Any:
            return gather_groups(
                users, embed_users(users, numbered, item_factors.embed), self._k, secret
            )

        by = GroupWriter(users, numbered, groups, rows)

        def summary() -> ReleaseSummary:
            sides = Sides(published, replace(private, lone_ratings=by.exact_ratings))
            figures = PredictiveSummary.of(sides, users.n_users, int(items.support.max()))
            return ReleaseSummary(published, figures)

        return ReleasePlan(release, by, summary)


def gather_users(lake: Lake, k: int) -> DistributedUsers:
    """Gather all users of a table on all of its items; raise if they are fewer than k."""
    places = np.arange(lake.items.size)
    users = distribute_users(lake, QueriedItemSums(lake.items, places, lake.items.size))
    if users.n_users < k:
        users.let_go()
        raise RecveilError(
            f"{describe_count(users.n_users, 'user')} "
            f"cannot form a group of k = {k}; lower k, or add users",
            code="table.too-few-users",
        )
    return users


def expect_groups(
    lake: Lake,
    n_users: int,
    mean_length: float,
    kind: Kind,
    layout: Layout,
    file_format: FileFormat,
    *,
    n_groups: int,
    width: float,
    step: float | None,
) -> Expected:
    """Estimate the size and time of a release from some of its groups."""
    some = min(n_groups, _SOME_GROUPS)
    share = some / n_groups
    shape = _Shape(lake, round(n_users * share), share, mean_length)
    estimate = expect(
        shape,  # type: ignore[arg-type]  # it has the attributes that are read
        kind,
        np.full(some, width),
        np.full(some, n_users / n_groups),
        layout,
        file_format,
        step,
    )
    return estimate._replace(
        n_values=round(estimate.n_values / share),
        ratings=lake.n_ratings,
        bytes=round(estimate.bytes / share),
        most_bytes=round(estimate.most_bytes / share),
        seconds=estimate.seconds / share,
    )


class _Shape:
    """The size of a table, with the attributes of `Ratings` that estimates read."""

    def __init__(self, lake: Lake, n_users: int, share: float, mean_length: float) -> None:
        self.is_unary = lake.scale.unary
        self.n_users, self.n_items = n_users, lake.items.size
        self.n_ratings = round(lake.n_ratings * share)
        self.items, self.scale = lake.items, lake.scale
        self.users = np.array(["u" * round(mean_length)], dtype=object)


def reject_table(lake: Lake, *, takes_likes: bool = False) -> None:
    """Reject likes, unless a method takes them, equal ratings, and an inferred scale.

    The end of an inferred scale may be a single user's rating, which executors do not check.
    """
    check_scale(lake.scale)
    if lake.scale.unary:
        if takes_likes:
            return
        raise RecveilError(
            "these are likes, which have no ratings for rows of groups to publish; sample "
            "synthetic users with epsilon (--epsilon 3), or leave engine (--engine) out",
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
            f"may be one user's; Spark does not check that, so name the scale, such as --scale "
            f"{lake.scale}",
            code="scale.inferred",
        )


def prefix_of(users: DistributedUsers, rng: np.random.Generator) -> str:
    """Draw the prefix of pseudonyms until no user id starts with it."""
    while True:
        prefix = fresh_prefix(np.empty(0), rng)
        if not users.frame.where(users.frame["user"].startswith(prefix)).limit(1).count():
            return prefix


# Options with a single supported value; others are rejected by name.
_FIXED_OPTIONS: dict[str, object] = {
    "grouping": "gecom",
    "b": 1,
    "l": 1,
    **dict.fromkeys(("diversity", "closeness")),
}
# The most ratings from which the driver learns a fill. Neighbours take time for each pair of users
# who rated the same item; factors take passes over all ratings.
MOST_LEARNED = 1 << 23


class CoRatedMaking:
    """Fills rows until at least k users rated the same items; ratings stay unchanged."""

    def __init__(self, k: int | None, options: Mapping[str, Any], seed: int | None) -> None:
        check_seed(seed)
        for name, usual in _FIXED_OPTIONS.items():
            if (value := options.get(name, usual)) != usual:
                what = f" {quoted(value)}" if isinstance(value, str) else ""
                what += ": not by Spark yet"
                what += ", where groups are those of gecom" if name == "grouping" else ""
                raise RecveilError(
                    f"{name} (--{name}){what}; leave it out, or leave engine (--engine) out",
                    code="option.unsupported",
                )
        self._seed = seed_or_random(seed)
        # A file, since its users are known only once the table is read.
        self._trust = options.get("trust")
        self._stated: StatedTrust | None = None
        if self._trust is not None:
            require_path("a file of trust statements", trust=self._trust)
        self._maker = maker = KCoRater(k or 0, seed=self._seed, **options)
        maker.check_options()
        idle = None if maker.fill == "trust" else self._trust
        maker.make_fill(0, idle)  # its errors

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], ReleasePlan]]:
        """Reject unsuitable tables, and gather the users on all items."""
        reject_table(lake, takes_likes=True)
        self._maker.check_labels(lake.scale)
        if self._maker.fill not in ("item-mean", "random") and lake.n_ratings > MOST_LEARNED:
            raise RecveilError(
                f"fill (--fill) {self._maker.fill!r}: {lake.n_ratings:,} ratings; with Spark, it "
                f"is learned by the driver from at most {MOST_LEARNED:,}, since neighbours take "
                f"time for each pair of users; choose item-mean or random",
                code="table.too-large",
            )
        users = gather_users(lake, self._maker.k)
        return users, lambda: self._make(lake, users)

    def _make(self, lake: Lake, users: DistributedUsers) -> ReleasePlan:
        """Find the groups and the fills; rows are made when they are written."""
        maker, k = self._maker, int(self._maker.k)
        numbered = number_users(users)
        secret = numbered.secret(self._seed)
        groups, cells = gather_corated(users, numbered, lake.n_ratings, k, secret)
        settings = maker.public_settings(lake.scale)
        published = Published(
            claim=Claim(K_CORATING.claim_of(settings), k),
            items=lake.items,
            scale=lake.scale,
            settings=settings,
            n_users=users.n_users,
            prefix=prefix_of(users, np.random.default_rng(secret)),
            blocks=lambda: iter(()),
            default_layout="users",
            expect=partial(
                expect_groups,
                lake,
                users.n_users,
                numbered.mean_length,
                "co-rated",
                n_groups=int(groups.groups.sum()),
                width=cells / users.n_users,
                step=maker.step(lake.scale),
            ),
        )
        fill, parameters = self._learn(users, numbered, secret)
        rows = FilledRows(
            bare(published),
            maker.step(lake.scale),
            fill,
            k,
            maker.round_fills,
            maker.protect,
            secret,
        )
        describe_used = partial(_used, lake, parameters, count_trust(self._stated))
        by = GroupWriter(users, numbered, lambda: groups, rows, used=describe_used)
        private = Private(np.empty(0), Groups.empty(), self._seed)

        def summary() -> ReleaseSummary:
            sides = Sides(published, replace(private, settings=describe_used(by.n_labels)))
            return ReleaseSummary(published, CoRatedSummary.of(sides, lake.n_ratings))

        return ReleasePlan(Sides(published, private), by, summary)

    def _learn(
        self, users: DistributedUsers, numbered: NumberedUsers, secret: tuple[int, ...]
    ) -> tuple[Any, dict[str, object]]:
        """Return what executors take fills from, and its parameters for the publisher."""
        maker = self._maker
        if maker.fill == "item-mean":
            return ItemMeans.of(users), {"name": "ItemMean"}
        if self._trust is not None:
            ids = numbered.frame.select("number", "user").toArrow().sort_by("number")["user"]
            self._stated = read_trust(self._trust, np.array(ids.to_pylist(), dtype=object))
        seed = int(np.random.default_rng([*secret, _FILLS]).integers(2**63))
        fill = maker.make_fill(seed, self._stated)
        parameters = {"name": type(fill).__name__, **parameters_of(fill)}
        rows = numbered.frame.select("number", "items", "ratings")
        if maker.fill == "random":  # it needs the scale alone
            rows = rows.limit(1)
        table = rows.toArrow().sort_by("number").combine_chunks()
        ratings = ratings_of(table, users.scale, users.n_items)
        fitted = learn(fill, ratings, int(maker.threads))
        return rows.sparkSession.sparkContext.broadcast(fitted), parameters


def _used(
    lake: Lake, parameters: dict[str, object], trust: dict[str, object], n_labels: int
) -> dict[str, object]:
    """Return settings for the publisher, given the number of published values."""
    fill = {} if lake.scale.unary else {"fill": parameters}
    return {"filled_cells": n_labels - lake.n_ratings, "cells": n_labels, **fill, **trust}
