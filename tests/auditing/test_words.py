"""Audits of ratings that are words, and of releases of such."""

import hashlib
import math
from dataclasses import replace

import pytest

from error_assertions import raises
from recveil.attacks.adversary import PRESETS
from recveil.auditing import audit
from recveil.methods import anonymize
from recveil.ratings import RatingScale

pytestmark = pytest.mark.usefixtures("rough_fit")

WORDS = ("hate", "dislike", "like", "love")

SCALE = RatingScale.of_labels(WORDS)

NUMBERS = RatingScale(1, 4, 1)
# What an item with two users behind it weighs in a score.
BIT = 1 / math.log(2)


class TestAudit:
    def test_without_a_release_users_are_found_as_by_numbers(self, words, word_numbers):
        found = [audit(each, targets=120, curves=False, seed=1) for each in (words, word_numbers)]
        rates = [[one.reidentified.rate for one in each.attacks] for each in found]
        assert rates[0] == rates[1]
        assert max(rates[0]) > 0.5  # planted users are found

    def test_no_user_is_found_where_all_users_have_one_row(self, words, tmp_path):
        anonymize(words, tmp_path / "out", k=words.n_users, method="predictive", seed=1)
        result = audit(words, release=tmp_path / "out", targets=120, curves=False).to_dict()
        for attack in result["release"]["attacks"]:
            assert (attack["reidentified"]["rate"] or 0) <= 1 / words.n_users + 1e-9

    @pytest.mark.parametrize("scale", [RatingScale.of_labels(WORDS[::-1]), NUMBERS], ids=str)
    def test_another_order_would_reassure_for_nothing(self, word_numbers, words_made, scale):
        with raises("release.mismatch"):
            audit(
                word_numbers.with_scale(scale),
                release=words_made / "simple",
                targets=9,
                curves=False,
            )

    def test_auxiliary_information_has_the_same_words(self, words_file, words, tmp_path):
        user = words.users[int(words.activity.argmax())]
        rows = [row for row in words.to_arrow().to_pylist() if row["user_id"] == user][:12]
        lines = [f"eve,{row['item_id']},{row['rating']}" for row in rows]
        (tmp_path / "aux.csv").write_text("\n".join(["target,item,rating", *lines, ""]))
        found = audit(
            words_file, auxiliary=tmp_path / "aux.csv", targets=9, curves=False, scale=SCALE
        )
        assert found.suspects[0].users[0] == str(rows[0]["user_id"])
        likes = "\n".join(["user,item", *(f"eve,{row['item_id']}" for row in rows), ""])
        (tmp_path / "likes.csv").write_text(likes)
        found = audit(
            words_file, auxiliary=tmp_path / "likes.csv", targets=9, curves=False, scale=SCALE
        )
        assert found.suspects[0].known == 12


class TestWithoutAnOrder:
    """Users are looked for by equality alone."""

    UNORDERED = RatingScale.of_labels(WORDS, ordered=False)

    def test_planted_users_are_found_and_no_user_in_one_row(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        anonymize(unordered, tmp_path / "out", k=words.n_users, method="nominal", seed=1)
        result = audit(unordered, release=tmp_path / "out", targets=120, curves=False).to_dict()
        written = (tmp_path / "out" / "release.json").read_bytes()
        assert result["release"]["sha256"] == hashlib.sha256(written).hexdigest()
        for attack in result["release"]["attacks"]:
            assert (attack["reidentified"]["rate"] or 0) <= 1 / words.n_users + 1e-9
        assert max(attack["reidentified"]["rate"] or 0 for attack in result["attacks"]) > 0.5

    def test_other_words_would_reassure_for_nothing(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        anonymize(unordered, tmp_path / "out", k=5, method="nominal", seed=1)
        for other in (words, words.with_scale(RatingScale.of_labels(WORDS[::-1], ordered=False))):
            with raises("release.mismatch"):
                audit(other, release=tmp_path / "out", targets=9, curves=False)

    def test_what_an_audit_of_them_does_not_do(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        with raises("option.unsupported"):
            audit(unordered, release=tmp_path / "out", item_catalog=tmp_path / "known.csv")
        with raises("option.unsupported"):
            audit(unordered, adversaries=[PRESETS["bystander"]], targets=9)
        with raises("option.unsupported"):
            anonymize(unordered, tmp_path / "out", k=5, method="nominal", hide_items=True)

    def test_another_decision_of_all_presets_leaves_out_the_same_ones(self, words):
        unordered = words.with_scale(self.UNORDERED)
        others = [replace(preset, eccentricity=2.0) for preset in PRESETS.values()]
        settings = {"targets": 9, "curves": False}
        audits = [audit(unordered, adversaries=each, **settings) for each in (None, others)]
        names = [[one.adversary.name for one in each.attacks] for each in audits]
        assert names[0] == names[1]

    @pytest.mark.parametrize(
        ("lines", "scores"),
        [
            # Only Dee said both; a has down twice, c with up once: 1 / ln 2 each.
            (["target,item,rating", "eve,a,down", "eve,c,up"], {"dee": 2 * BIT, "ben": BIT}),
            # By items alone: a has four users, c two.
            (["target,item", "eve,a", "eve,c"], {"cy": 1.5 * BIT, "dee": 1.5 * BIT}),
        ],
        ids=["words", "items"],
    )
    def test_auxiliary_information_is_matched_by_equality(self, tmp_path, lines, scores):
        rows = ["user,item,rating", *("ann,a,up", "ann,b,down", "ben,a,down", "ben,b,down")]
        rows += ["cy,a,up", "cy,c,meh", "dee,a,down", "dee,b,down", "dee,c,up", ""]
        (tmp_path / "words.csv").write_text("\n".join(rows))
        (tmp_path / "aux.csv").write_text("\n".join([*lines, ""]))
        for names in ("up,down,meh", "meh,up,down"):  # numbers of words are names
            (eve,) = audit(
                tmp_path / "words.csv", auxiliary=tmp_path / "aux.csv", words=names, curves=False
            ).suspects
            best = dict(zip(eve.users, eve.scores, strict=True))
            assert (eve.known, eve.matched) == (2, 2)
            assert {user: best[user] for user in list(best)[:2]} == pytest.approx(scores)

    def test_other_words_and_items_of_auxiliary_information_are_refused(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        aux = tmp_path / "aux.csv"
        for line, code, named in (
            (f"eve,{words.items[0]},adore", "rating.off-scale", "'adore'"),
            ("eve,nowhere,love", "id.unknown", words.items[0]),
        ):
            aux.write_text(f"target,item,rating\n{line}\n")
            with raises(code, named):
                audit(unordered, auxiliary=aux, targets=9)

    def test_another_release_of_other_words_is_refused(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        turned = words.with_scale(RatingScale.of_labels(WORDS[::-1], ordered=False))
        for table, name in ((unordered, "out"), (turned, "other")):
            anonymize(table, tmp_path / name, k=5, method="nominal", seed=1)
        with raises("release.mismatch") as caught:
            audit(unordered, release=tmp_path / "out", second_release=tmp_path / "other", targets=9)
        assert "other" in str(caught.value)
