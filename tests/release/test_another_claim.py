"""Another kind of claim is one entry. docs/how-to/extending.md shows the code that follows."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.datasets import generate
from recveil.methods import Pseudonymizer, anonymize
from recveil.methods.registry import Maker, forget, register
from recveil.publish import Release
from recveil.release.claim import Claim, ClaimKind, forget_claim, register_claim
from recveil.release.method import Method, PublicSetting
from recveil.release.records import Records
from recveil.verification import verify


def lengths(records, keys):
    """Two records are of one class if they hold as many items."""
    return [int(length).to_bytes(16, "big") for length in np.diff(records.indptr)]


# docs/how-to/extending.md: from here
KIND = ClaimKind(
    name="as-many-items",
    promise="as many",
    label="as many items",
    meaning="at least k users have as many items in their records, whatever these are",
    shared="number of items",
    shared_short=("number", "numbers"),
    shared_parts="numbers of items",
    class_of="records with as many items",
    compared=(),  # no columns: a class does not depend on their values
    digests=lengths,
    is_bound=False,
    one_person_each=True,
    unpromised="nothing is promised but that counting items finds k users",
    caution="Items and ratings are not compared.",
    card="At least **{{ k }}** users have as many items in their records (claim `{{ claim }}`).\n",
)


# docs/how-to/extending.md: to here


WORDS = Method(
    name="cut-short",
    title="rows cut short",
    description="each row is cut to the length of k - 1 others",
    family="other",
    settings=(PublicSetting("method", ("rows cut short",)),),
    claim_of=lambda _: KIND.name,
    card="""{% extends "card" %}
{% block learned %}
- That nothing is learned about a user: their record holds their real ratings.
{% endblock %}
{% block not_promised %}{% endblock %}
""",
    one_person_each=True,
)


class CutShort:
    """Cut the rows of k users with similar counts to the shortest of them."""

    def __init__(self, k, *, seed=None):
        self.k = k
        self.seed = seed

    def anonymize(self, ratings):
        raw = Pseudonymizer(seed=self.seed).anonymize(ratings)
        length = np.sort(ratings.activity)
        shortest = length[np.arange(ratings.n_users) // self.k * self.k]
        shortest[ratings.n_users // self.k * self.k :] = shortest[-self.k - 1]
        kept = np.empty_like(shortest)
        kept[np.argsort(ratings.activity, kind="stable")] = shortest

        def blocks():
            first = 0
            for block in raw.published.blocks():
                ends = kept[raw.private.groups.members[first : first + len(block)]]
                places = [
                    np.arange(start, start + end)
                    for start, end in zip(block.indptr, ends, strict=False)
                ]
                at = np.concatenate(places)
                indptr = np.concatenate([[0], np.cumsum(ends)])
                yield Records(block.sizes, indptr, block.indices[at], block.values[at])
                first += len(block)

        settings = {"method": WORDS.title}
        claim = Claim(KIND.name, self.k)
        published = replace(raw.published, claim=claim, settings=settings, blocks=blocks)
        return Release(published, raw.private)


MAKER = Maker(method=WORDS, make=CutShort)


@pytest.fixture
def another_claim():
    register_claim(KIND)
    register(MAKER)
    yield
    forget(MAKER)
    forget_claim(KIND.name)


@pytest.fixture
def table(tmp_path):
    generate(tmp_path / "ratings.csv", users=60, items=30, ratings=900)
    return tmp_path / "ratings.csv"


def make(table, folder):
    anonymize(table, folder, k=5, method="cut-short", file_format="csv", seed=1)
    return folder


def test_it_is_made_checked_and_stated(another_claim, table, tmp_path):
    out = make(table, tmp_path / "out")
    verdict = verify(out)
    assert verdict.holds
    assert (verdict.claim, verdict.k_required) == ("as-many-items", 5)
    assert not verify(out, claim="identical-rows").holds
    assert "**5** users have as many items" in (out / "README.md").read_text()
    found = audit(table, release=out, targets=20, curves=False).to_dict()["release"]
    assert found["headline"].endswith("nothing is promised but that counting items finds k users.")


def test_one_line_less_breaks_it(another_claim, table, tmp_path):
    out = make(table, tmp_path / "out")
    lines = (out / "ratings.csv").read_text().splitlines()
    (out / "ratings.csv").write_text("\n".join(lines[:-1]) + "\n")
    content = (out / "ratings.csv").read_bytes()
    manifest = json.loads((out / "release.json").read_text())
    manifest["files"]["ratings.csv"] = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    (out / "release.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    verdict = verify(out)
    assert not verdict.holds
    result = " ".join(violation.problem for violation in verdict.violations)
    assert "its numbers of items are shared by" in result


pytestmark = pytest.mark.usefixtures("few_recommenders")


@pytest.mark.usefixtures("another_claim")
def test_a_plain_file_cannot_claim_what_no_column_contains(table):
    with raises("option.unsupported"):
        verify(table, k=2, claim="as-many-items")


def test_what_is_not_registered_is_refused_by_name(table, tmp_path):
    register_claim(KIND)
    register(MAKER)
    out = make(table, tmp_path / "out")
    forget(MAKER)
    forget_claim(KIND.name)
    with raises("claim.unknown") as error:
        verify(out)
    assert "'as-many-items'" in str(error.value)
    with raises("claim.unknown") as error:
        audit(table, release=out, targets=5, curves=False)
    assert "'as-many-items'" in str(error.value)
    with raises("claim.unknown") as error:
        verify(out, claim="as-many-items")
    assert "'as-many-items'" in str(error.value)
    with raises("claim.unknown") as error:
        Claim("as-many-items", 5)
    assert "'as-many-items'" in str(error.value)


def test_a_name_that_is_taken_is_refused(another_claim):
    with raises("argument.value"):
        register_claim(KIND)
