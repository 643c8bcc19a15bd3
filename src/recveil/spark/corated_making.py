"""Co-rated making: k-coRating by executors: GeCom's groups, and fills by the item's mean."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from recveil.anonymize.base import check_seed, drawn_seed
from recveil.anonymize.k_corating import KCoRater
from recveil.anonymize.telling import told_of_k_corating
from recveil.errors import RecveilError, quoted
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.k_corating_words import K_CORATING
from recveil.release.sides import Private, Published, Sides
from recveil.spark.group_making import expect_groups, people_of, prefix_of, refuse_table
from recveil.spark.group_rows import FilledRows, KnownMeans
from recveil.spark.group_writing import GroupsByExecutors, bare
from recveil.spark.lake import Lake
from recveil.spark.making import Made, Ready
from recveil.spark.people_numbers import number_people
from recveil.spark.spread_people import SpreadPeople
from recveil.spark.support_order import gather_corated

# Of these options one value is offered; all else is refused by its name.
_OFFERED = {"fill": "item-mean", "grouping": "gecom"}


class CoRatedMaking:
    """Fills rows up until at least k people rated the same items; ratings stay as they are.

    Parameters
    ----------
    k : int or None
        Smallest group, at least 2.
    given : mapping
        The options of `KCoRater` that were given.
    seed : int or None
        Drawn from the system if not given.

    Raises
    ------
    RecveilError
        If they make no sense, or are not offered.
    """

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
        refuse_table(lake, takes_likes=True)
        self._maker.check_labels(lake.scale)
        people = people_of(lake, self._maker.k)
        return Ready(people, lambda: self._make(lake, people))

    def _make(self, lake: Lake, people: SpreadPeople) -> Made:
        """Find the groups, and what fills are; rows are made when they are to be written."""
        maker, k = self._maker, int(self._maker.k)
        numbered = number_people(people)
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
        private = Private(np.empty(0), Groups.of_nobody(), self._seed)

        def told() -> list[str]:
            shown = Sides(published, replace(private, settings=used(by.n_labels)))
            return told_of_k_corating(shown, lake.n_ratings)

        return Made(Sides(published, private), by, told)


def _used(lake: Lake, n_labels: int) -> dict[str, Any]:
    """Return what the owner is to know of so many labels, as of a release made here."""
    fill = {} if lake.scale.unary else {"fill": {"name": "ItemMean"}}
    return {"filled_cells": n_labels - lake.n_ratings, "cells": n_labels, **fill}
