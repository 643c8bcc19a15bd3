"""Another attack is one class and one entry; docs/how-to/extending.md shows the code below."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from recveil.attacks import ATTACKS, AttackEntry, Guesses, register_attack
from recveil.auditing import audit
from recveil.datasets import generate
from recveil.methods import anonymize


# docs/how-to/extending.md: from here
@dataclass(frozen=True)
class MostItems:
    """Takes the record that carries most of the known items, however they were rated."""

    name: ClassVar[str] = "most-items"

    def attack(self, candidates, knowledge, record_of):
        best, tied_users, target_is_top = [], [], []
        for place, target in enumerate(knowledge.targets):
            carried = np.zeros(candidates.n_records)
            for item in knowledge.items[knowledge.indptr[place] : knowledge.indptr[place + 1]]:
                carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
                carried[candidates.records[carrying]] += 1
            most = np.flatnonzero(carried == carried.max())
            best.append(most[0] if most.size == 1 else -1)
            tied_users.append(candidates.sizes[most].sum())
            target_is_top.append(record_of[target] in most)
        return Guesses(
            best=np.array(best, np.int64),
            tied_users=np.array(tied_users, np.int64),
            target_is_top=np.array(target_is_top, bool),
        )


ENTRY = AttackEntry(
    name=MostItems.name,
    description="It takes the record that carries most of the known items.",
    on_table=lambda _adversary, _scale: MostItems(),
    on_release=lambda _adversary, _scale: [MostItems()],
)


# docs/how-to/extending.md: to here


@pytest.fixture
def another_attack():
    register_attack(ENTRY)
    yield ENTRY.name
    del ATTACKS[ENTRY.name]


def test_every_audit_tries_it(another_attack, tmp_path):
    generate(tmp_path / "ratings.csv", users=80, items=40, ratings=1_200)
    source, output = tmp_path / "ratings.csv", tmp_path / "release"
    anonymize(source, output, k=4, method="predictive", homogenize="simple")
    found = audit(source, release=output, targets=20)
    plain = found.to_dict()
    attacks = [*plain["attacks"], *plain["release"]["attacks"]]
    for outcome in (each for each in attacks if each["targets_attacked"]):
        assert outcome["by_attack"][another_attack]["trials"] == 20
        best = max(interval["rate"] for interval in outcome["by_attack"].values())
        assert outcome["reidentified"]["rate"] == best
    page = found.to_html()
    assert another_attack in page
    assert ENTRY.description in page
