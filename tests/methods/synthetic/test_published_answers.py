"""`--publish-answers`: the noisy answers and the model are published, checked, and no more."""

import hashlib
import json
import shutil

import independent
import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import anonymize, sample
from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from recveil.release.noisy_answers import answers_to_bytes, read_answers
from recveil.verification import verify

RATINGS = make_ratings(400, 60, 8_000, seed=1)
OPTIONS = {"epsilon": 20.0, "item_catalog": "as-rated", "ledger": "none", "publish_answers": True}
KINDS = {
    "users": (RATINGS, {}),
    "model": (RATINGS, {"layout": "model"}),
    "likes": (RATINGS.as_likes(), {}),
    "selected": (make_ratings(3_000, 60, 60_000, seed=1), {"item_catalog": None, "epsilon": 50.0}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    for kind, (table, options) in KINDS.items():
        anonymize(table, folder / kind, **OPTIONS | options)
    return folder


@pytest.fixture
def copy_of(made, tmp_path):
    return lambda kind: shutil.copytree(made / kind, tmp_path / kind)


def made_with(seed=1, ratings=RATINGS, **options):
    maker = Synthesizer(20.0, item_catalog="as-rated", publish_answers=True, seed=seed, **options)
    return maker.anonymize(ratings).published


def with_digest(folder):
    """Correct the digest of the answers in release.json, as a forger does."""
    content = (folder / "answers.npz").read_bytes()
    text = (folder / "release.json").read_text()
    entry = json.loads(text)["files"]["answers.npz"]
    text = text.replace(entry["sha256"], hashlib.sha256(content).hexdigest())
    (folder / "release.json").write_text(
        text.replace(f'"bytes": {entry["bytes"]}', f'"bytes": {len(content)}')
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_with_its_answers_holds(made, kind):
    manifest = json.loads((made / kind / "release.json").read_text())
    assert manifest["settings"]["answers"] == "published"
    assert "answers.npz" in manifest["files"]
    assert verify(made / kind).violations == []
    assert list(independent.problems(made / kind)) == []
    assert verify(made / kind, private=made / f"{kind}.private").holds
    card = (made / kind / "README.md").read_text()
    assert "an AUC of 0.97 instead of 0.74" in card


def test_nothing_of_it_is_there_by_default(tmp_path):
    anonymize(RATINGS, tmp_path / "out", **OPTIONS | {"publish_answers": False})
    assert not (tmp_path / "out" / "answers.npz").exists()
    assert "answers" not in (tmp_path / "out" / "release.json").read_text()


def test_the_answers_are_those_of_the_mechanism_alone(monkeypatch):
    """Each published array is what came back noisy, once per query of the ledger."""
    seen = {}
    for name in ("measure", "measure_symmetric"):
        answer = getattr(Mechanism, name)

        def keep(self, query, *rest, _answer=answer, **named):
            seen[query] = _answer(self, query, *rest, **named).copy()
            return seen[query].copy()

        monkeypatch.setattr(Mechanism, name, keep)
    published = made_with()
    queries = [query.name for query in published.claim.ledger.queries]
    assert [*seen] == queries
    for query, noisy in seen.items():
        expected = noisy[np.triu_indices(len(noisy))] if query == "moments" else noisy
        assert (published.answers[query.replace(" ", "_")] == expected).all()


def test_the_noise_of_each_answer_is_that_of_the_ledger():
    """Answers of two seeds differ by the noise of the ledger, so none of them is exact."""
    one, other = made_with(1), made_with(2)
    for query in one.claim.ledger.queries:
        name = query.name.replace(" ", "_")
        if name in ("moments", "ratings_by_factor", "item_kinds"):
            continue  # the question depends on earlier answers
        off = (one.answers[name] - other.answers[name]) / query.sigma / 2**0.5
        assert 0.3 < np.sqrt((off**2).mean()) < 2.0, name


def test_answers_do_not_depend_on_what_no_query_asks():
    """Byte for byte: neither on names and order of users, nor on dates."""
    order = np.random.default_rng(3).permutation(RATINGS.n_users)
    rank = np.empty(RATINGS.n_users, np.int64)
    rank[order] = np.arange(RATINGS.n_users)
    users = rank[RATINGS.user_positions()]
    others = Ratings.from_columns(
        users, RATINGS.items[RATINGS.indices], RATINGS.values, scale=RATINGS.scale
    )
    one, other = (answers_to_bytes(made_with(ratings=each).answers) for each in (RATINGS, others))
    assert one == other


def test_only_items_of_the_release_have_answers(made):
    """An item that the noise hides has no row, although the ledger counts what was answered."""
    folder = made / "selected"
    answers = read_answers(folder / "answers.npz")
    ledger = json.loads((folder / "release.json").read_text())["claim"]["ledger"]
    (n_values,) = (each["values"] for each in ledger["queries"] if each["name"] == "item sums")
    assert answers["item_sums"].shape == (answers["items"].size, 2)
    assert answers["item_sums"].size <= n_values
    assert set(answers["moment_items"]) <= set(answers["items"])


@pytest.mark.parametrize("name", ["users_by_user_count", "item_sums", "offset", "factors"])
def test_a_changed_answer_is_noticed_by_its_digest(copy_of, name):
    folder = copy_of("users")
    answers = read_answers(folder / "answers.npz")
    answers[name] = answers[name] + np.float32(1)
    (folder / "answers.npz").write_bytes(answers_to_bytes(answers))
    assert {each.where for each in verify(folder).violations} == {"answers.npz"}


FORGED = {
    "a missing query": lambda answers: answers.pop("user_means"),
    "another array": lambda answers: answers.update(exact=np.zeros(3)),
    "more sums": lambda answers: answers.update(rating_levels=np.zeros(9)),
    "no numbers": lambda answers: answers["item_sums"].__setitem__((0, 0), np.nan),
    "other moments": lambda answers: answers.update(moments=answers["moments"][1:]),
    "an unknown item": lambda answers: answers["moment_items"].__setitem__(0, -5),
    "items in another order": lambda answers: answers.update(items=answers["items"][::-1].copy()),
    "a model of fewer items": lambda answers: answers.update(offset=answers["offset"][1:]),
    "other users": lambda answers: answers["users_by_user_count"].__iadd__(3.0),
}


@pytest.mark.parametrize("how", FORGED)
def test_forged_answers_are_noticed_although_the_digest_is_right(copy_of, how):
    folder = copy_of("users")
    answers = read_answers(folder / "answers.npz")
    FORGED[how](answers)
    (folder / "answers.npz").write_bytes(answers_to_bytes(answers))
    with_digest(folder)
    assert "answers.npz" in {each.where for each in verify(folder).violations}


def test_a_model_must_be_that_of_the_answers(copy_of):
    folder = copy_of("model")
    answers = read_answers(folder / "answers.npz")
    answers["offset"] = answers["offset"] + np.float32(0.5)
    (folder / "answers.npz").write_bytes(answers_to_bytes(answers))
    with_digest(folder)
    problems = [each.problem for each in verify(folder).violations]
    assert problems == ["its model is not that of the release"]


def test_other_bytes_of_equal_arrays_are_noticed(copy_of):
    folder = copy_of("users")
    answers = read_answers(folder / "answers.npz")
    np.savez_compressed(folder / "answers.npz", **answers)
    with_digest(folder)
    assert "bytes are not those" in verify(folder).violations[0].problem


def test_users_sampled_from_the_model_have_no_answers(made, tmp_path):
    sample(made / "model", tmp_path / "sampled", n_users=50, seed=1)
    assert verify(tmp_path / "sampled").holds
    assert not (tmp_path / "sampled" / "answers.npz").exists()


def test_exact_sums_are_never_published():
    with raises("option.conflict"):
        Synthesizer(None, publish_answers=True)
