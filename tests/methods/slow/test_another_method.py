"""Another method is one class and one entry; docs/how-to/extending.md shows the code below."""

import itertools
import json

import numpy as np
import pytest

from recveil.cli import main
from recveil.methods.base import (
    assemble,
    check_k,
    check_seed,
    check_users,
    secret_rng,
    seed_or_random,
)
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.methods.registry import Maker, forget, register
from recveil.release.claim import Claim
from recveil.release.method import Method, Option, PublicSetting, Variant
from recveil.release.records import Groups, Records
from recveil.runtime.errors import RecveilError

# docs/how-to/extending.md: from here
WORDS = Method(
    name="by-activity",
    title="groups by activity",
    description="users with similar user counts share one row",
    family="identical rows",
    settings=(
        PublicSetting("method", ("groups by activity",)),
        PublicSetting("least_raters", (1, 2, 3)),
    ),
    claim_of=lambda _: "identical-rows",
    card="""{% extends "card" %}
{% block learned %}
- That nothing is learned about a user: an adversary who knows a user's count knows their group.
{% endblock %}
{% block not_promised %}
- That values are of use: users with similar counts need not have similar preferences.
{% endblock %}
""",
    options=(
        Option(
            name="least_raters",
            kind=int,
            metavar=None,
            help="Omit items with fewer raters in the group: 1 (default), 2 or 3.",
            panel="By activity",
        ),
    ),
    variants=(
        Variant(
            name="activity",
            description="Groups of users with similar counts, and the means of their ratings.",
            claim="identical-rows",
            kind="activity",
            colour="#56B4E9",
        ),
    ),
    undone_by=lambda _: ("An adversary who knows a user's count knows their group.",),
)


# docs/how-to/extending.md: to here


class ByActivity:
    """Group users with similar counts, and publish one row of means per group."""

    def __init__(self, k, least_raters=1, *, seed=None):
        self.k = k
        self.least_raters = least_raters
        self.seed = seed

    def anonymize(self, ratings):
        check_seed(self.seed)
        check_k(self.k)
        check_users(ratings, self.k)
        seed = seed_or_random(self.seed)
        rng = secret_rng(seed, ratings)
        n_groups = ratings.n_users // self.k
        labels = np.empty(ratings.n_users, np.int64)
        rank = np.argsort(ratings.activity, kind="stable")
        labels[rank] = np.minimum(np.arange(ratings.n_users) // self.k, n_groups - 1)
        groups = Groups.from_labels(labels, rng.permutation(n_groups))
        return assemble(
            ratings,
            rng,
            claim=Claim("identical-rows", self.k),
            settings={"method": WORDS.title, "least_raters": self.least_raters},
            groups=groups,
            blocks=lambda: self._blocks(ratings, groups),
            default_layout="users",
            seed=seed,
        )

    def _blocks(self, ratings, groups):
        rated = ratings.csr.copy()
        rated.data = np.ones_like(rated.data)
        first = 0
        for block in homogenize_simple(ratings, groups):
            row_of = np.repeat(np.arange(len(block)), np.diff(block.indptr))
            edges = groups.starts[first : first + len(block) + 1]
            raters = np.array(
                [
                    rated[groups.members[start:end]].sum(axis=0)
                    for start, end in itertools.pairwise(edges)
                ]
            )
            # No row is empty: if all items have fewer raters, those with the most stay.
            least = np.minimum(self.least_raters, raters.max(axis=1))
            kept = raters[row_of, block.indices] >= least[row_of]
            lengths = np.bincount(row_of[kept], minlength=len(block))
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            labels = ratings.scale.round(block.values[kept], 0.1)
            yield Records(block.sizes, indptr, block.indices[kept], labels)
            first += len(block)


MAKER = Maker(
    method=WORDS,
    make=ByActivity,
    again=lambda manifest, seed: ByActivity(
        manifest.claim.k, manifest.settings["least_raters"], seed=seed
    ),
    summarize=lambda _release, _ratings, _counts: ["Groups were made by activity alone."],
)


@pytest.fixture
def another_method():
    register(MAKER)
    yield
    forget(MAKER)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        result = capsys.readouterr()
        assert stop.value.code in (0, None), result.err
        return result.out

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    run("generate", "ratings.csv", "--users", "90", "--items", "40", "--ratings", "1800")
    return run


def test_every_verb_knows_it(another_method, run, tmp_path):
    assert "by-activity: users with similar user counts" in " ".join(
        run("anonymize", "--help").replace("│", " ").split()
    )
    result = run(
        *("anonymize", "ratings.csv", "-o", "out", "--k", "6", "--seed", "1"),
        *("--method", "by-activity", "--least-raters", "2"),
    )
    assert "Groups were made by activity alone." in result
    settings = json.loads((tmp_path / "out" / "release.json").read_text())["settings"]
    assert settings == {"method": "groups by activity", "least_raters": 2}
    card = (tmp_path / "out" / "README.md").read_text()
    assert "users with similar counts need not have similar preferences" in card
    assert "averages real ratings and predictions" not in card
    assert "holds" in run("verify", "out")
    found = json.loads(run("audit", "ratings.csv", "--release", "out", "--json", "-"))["release"]
    assert "An adversary who knows a user's count knows their group." in found["verdict"]
    assert found["membership"] is not None  # it can be made again, without some of the users
    judged = run("evaluate", "ratings.csv", "--split", "0.3", "--release", "out", "--targets", "30")
    assert "An adversary who knows a user's count knows their group." in " ".join(judged.split())
    compared = run(
        *("compare", "ratings.csv", "-o", "comparison", "--methods", "activity,raw"),
        *("--k", "3,6", "--targets", "30"),
    )
    assert "activity, k = 6" in " ".join(compared.split())
    page = (tmp_path / "comparison" / "index.html").read_text()
    assert "Groups of users with similar counts" in page
    assert "#56B4E9" in page


@pytest.mark.usefixtures("another_method")
def test_its_options_are_its_own(run, capsys):
    for options, result in {
        ("--least-raters", "2"): "least_raters (--least-raters): only for the method by-activity",
        ("--method", "by-activity", "--fill", "random"): "only for the method k-corating",
    }.items():
        with pytest.raises(SystemExit) as stop:
            main(["anonymize", "ratings.csv", "-o", "out", "--k", "6", *options])
        assert stop.value.code == 2
        assert result in capsys.readouterr().err


def test_what_is_not_registered_is_refused_by_name(run, tmp_path, capsys):
    """Its release was made by a recveil that knew the method: this one does not."""
    register(MAKER)
    run("anonymize", "ratings.csv", "-o", "out", "--k", "6", "--method", "by-activity")
    forget(MAKER)
    for verb, code, result in (
        (["verify", "out"], 1, "the method 'groups by activity' is unknown"),
        (
            ["audit", "ratings.csv", "--release", "out"],
            2,
            "the method 'groups by activity' is unknown",
        ),
        (
            ["evaluate", "ratings.csv", "--split", "0.3", "--release", "out"],
            2,
            "the method 'groups by activity' is unknown",
        ),
        (["compare", "ratings.csv", "-o", "c", "--methods", "activity"], 2, "method 'activity'"),
        (
            ["anonymize", "ratings.csv", "-o", "o", "--k", "3", "--method", "by-activity"],
            2,
            "method 'by-activity': expected one of predictive, k-corating",
        ),
    ):
        with pytest.raises(SystemExit) as stop:
            main(verb)
        seen = capsys.readouterr()
        assert stop.value.code == code
        assert result in " ".join((seen.out + seen.err).replace("│", " ").split())


def test_a_name_that_is_taken_is_refused(another_method):
    with pytest.raises(RecveilError) as caught:
        register(MAKER)
    assert caught.value.code == "argument.value"
    assert "'activity'" in str(caught.value)
