"""Synthetic users are compared with the rule by which they are sampled."""

import hashlib
import json
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from recveil.release.manifest_reader import known_manifest
from recveil.release.noisy_answers import read_answers
from recveil.verification import rule_of_users, verify
from recveil.verification.rule_of_users import copied_records, wrong_shares

RATINGS = make_ratings(500, 80, 15_000, seed=1)
STARS = RatingScale(1, 5, 1)
OPTIONS = {"epsilon": 20.0, "item_catalog": "as-rated", "ledger": "none", "file_format": "csv"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rule") / "release"
    anonymize(RATINGS, folder, **OPTIONS, publish_answers=True)
    return folder


class TestCopiedRecords:
    @pytest.mark.parametrize(
        ("values", "copied"),
        [
            ([4.0, 5.0] * 10, True),
            ([1.0, 2.0] * 3 + [4.0] * 14, True),
            ([4.0, 5.0] * 9 + [4.0], False),  # too few to be sure
            ([4.0, 5.0] * 10 + [4.3], False),  # sampled values are between levels
            ([5.0] * 30, False),  # all at one end, as of a user who likes everything most
            ([1.0] * 15 + [5.0] * 15, False),  # at both ends, as of two-sided ratings
        ],
    )
    def test_by_hand(self, values, copied):
        found = copied_records(np.array([0, len(values)]), np.array(values), STARS)
        assert found.tolist() == [0] * copied

    def test_a_side_of_one_level_says_nothing(self):
        """From 1 to 3, a liked rating is 3, and no tenth."""
        values = np.array([3.0] * 30 + [1.0, 2.0] * 2)
        assert copied_records(np.array([0, 34]), values, RatingScale(1, 3, 1)).size == 0

    def test_each_pasted_row_of_a_real_user_is_reported(self, made, tmp_path):
        """One row among hundreds, of the length that the rule demands, and with right digests."""
        folder = shutil.copytree(made, tmp_path / "release")
        lines = (folder / "ratings.csv").read_text().splitlines()
        users = [line.split(",")[0].strip('"') for line in lines]
        lengths = {user: users.count(user) for user in set(users[1:])}
        real = {RATINGS.activity[user]: user for user in range(RATINGS.n_users)}
        user = next(u for u in users[1:] if lengths[u] in real and lengths[u] >= 25)
        items, values = RATINGS.row(real[lengths[user]])
        rows = [
            f'"{user}",{RATINGS.items[item]},{value:g}'
            for item, value in zip(items, values, strict=True)
        ]
        first = users.index(user)
        lines[first : first + len(rows)] = rows
        rewrite(folder, "\n".join(lines) + "\n")
        problems = [each for each in verify(folder).violations if "all levels" in each.problem]
        assert [each.user_id for each in problems] == [user]

    def test_sampled_users_are_no_copies(self, made):
        assert verify(made).violations == []


def rewrite(folder, text):
    """Replace the ratings, and correct release.json and the card, as a forger does."""
    (folder / "ratings.csv").write_text(text)
    items = len({line.split(",")[1] for line in text.splitlines()[1:]})
    old = json.loads((folder / "release.json").read_text())
    old["counts"]["items"] = items
    old["counts"]["values"] = text.count("\n") - 1
    old["files"]["ratings.csv"] = {
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "bytes": len(text.encode()),
    }
    (folder / "release.json").write_text(json.dumps(old, indent=2) + "\n")


class TestShares:
    def test_users_of_the_model_are_within_chance(self, made):
        answers = read_answers(made / "answers.npz")
        assert list(wrong_shares(made, known_manifest(made), answers)) == []

    def test_other_users_are_not(self, made, monkeypatch):
        """Half of the rows are those of real users, whose items and pairs are others."""
        chosen_users = rule_of_users._chosen_users

        def pasted(folder, manifest, items, chosen):
            users = chosen_users(folder, manifest, items, chosen)
            half = len(users) // 2
            users[:half] = np.random.default_rng(1).random((half, items.size)) < 0.3
            return users

        monkeypatch.setattr(rule_of_users, "_chosen_users", pasted)
        answers = read_answers(made / "answers.npz")
        problems = list(wrong_shares(made, known_manifest(made), answers))
        assert any("pairs of items" in each for each in problems)

    def test_users_of_another_model_are_reported_by_verify(self, made, tmp_path):
        """The users of one release next to the answers of another, with right digests."""
        other = tmp_path / "other"
        anonymize(
            make_ratings(500, 80, 15_000, seed=2), other, **OPTIONS | {"publish_answers": True}
        )
        folder = shutil.copytree(made, tmp_path / "release")
        (folder / "answers.npz").write_bytes((other / "answers.npz").read_bytes())
        answers = read_answers(folder / "answers.npz")
        manifest = known_manifest(folder)
        problems = list(wrong_shares(folder, manifest, answers))
        assert problems
        assert re.search("shares of items differ from it by [0-9.]+ times chance", problems[0])

    def test_the_items_of_chosen_users_by_hand(self, tmp_path, monkeypatch):
        table = pa.table({"user_id": ["a", "a", "b", "c"], "item_id": [5, 7, 7, 5]})
        monkeypatch.setattr(rule_of_users, "read_rows", lambda *_: iter([table[:2], table[2:]]))
        found = rule_of_users._chosen_users(tmp_path, None, np.array([5, 7]), np.array([0, 2]))
        assert found.tolist() == [[True, True], [True, False]]

    def test_samples_have_the_probabilities_of_the_rule(self):
        """Without factors all log-odds are equal to the offsets, here 1 and 1/3 as odds."""
        answers = {"offset": np.log([1.0, 1.0, 1 / 3, 1 / 3]), "factors": np.zeros((4, 1))}
        manifest = SimpleNamespace(settings={"user_counts": [1.5] * 128})
        users = rule_of_users._sample(answers, manifest, 20_000, np.random.default_rng(1))
        # Probabilities of 1/2 and 1/4 add up to the user count of 1.5.
        assert users.mean(axis=0) == pytest.approx([0.5, 0.5, 0.25, 0.25], abs=0.03)
        assert set(users.sum(axis=1)) <= {1, 2}

    def test_the_distance_by_hand(self):
        """Expected 50 of 100, with a variance of 25 (1 + 1/4); found 60: 100 / 31.25 = 3.2."""
        found = rule_of_users._distance(np.array([60.0, 1.0]), np.array([200.0, 8.0]), 100, 4)
        assert found == pytest.approx(3.2)
