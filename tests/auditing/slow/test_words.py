"""Audits of ratings that are words, and of releases of such."""

import pytest

from recveil.auditing import audit
from recveil.methods import anonymize
from recveil.ratings import RatingScale

pytestmark = pytest.mark.usefixtures("rough_fit")

WORDS = ("hate", "dislike", "like", "love")

SCALE = RatingScale.of_labels(WORDS)


class TestAudit:
    @pytest.mark.parametrize("name", ["padded", "simple", "sparse"])
    def test_the_promise_holds(self, words_file, words_made, name):
        result = audit(
            words_file, release=words_made / name, targets=60, curves=False, scale=SCALE
        ).to_dict()
        assert result["data"]["labels"] == list(WORDS)
        assert result["data"]["ordered"] is True
        for attack in result["release"]["attacks"]:
            assert attack["reidentified"]["low"] <= attack["bound"] == 0.2


class TestWithoutAnOrder:
    """Users are looked for by equality alone."""

    UNORDERED = RatingScale.of_labels(WORDS, ordered=False)

    def test_two_releases_reveal_more_than_one(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        for seed, grouping in enumerate(("mdav", "k-member")):
            folder = tmp_path / grouping
            anonymize(unordered, folder, k=3, method="nominal", grouping=grouping, seed=seed)
        found = audit(
            unordered,
            release=tmp_path / "mdav",
            second_release=tmp_path / "k-member",
            targets=120,
            curves=False,
        )
        both = found.published.linkage
        assert both.k == 3
        assert both.shared.below_k.rate > 0.5
        _, strongest = both.strongest
        assert strongest.reidentified_by_both.rate > strongest.reidentified_by_one.rate
        assert strongest.reidentified_by_both.rate > strongest.control.rate
        assert both.links.both.trials == 120
        page = found.to_html()
        assert "two releases of the same users" in page
        assert "off by" not in page  # words without an order are no numbers

    def test_it_has_a_page(self, words):
        found = audit(words.with_scale(self.UNORDERED), targets=20)
        page = found.to_html()
        assert "dislike, hate, like, love" in page or "hate, dislike, like, love" in page

    def test_shadow_releases_are_made_of_words(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        anonymize(unordered, tmp_path / "out", k=2, method="nominal", seed=1)
        found = audit(unordered, release=tmp_path / "out", targets=9, curves=False, shadows=8)
        result = found.published.shadows.by_known["all"]
        assert result.inferred.auc.low > 0.5
        assert abs(result.null_auc.rate - 0.5) < 0.2
