"""The data card: nothing in it is rosier than what is measured."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest

from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.data_card import data_card, data_cards
from recveil.release.earlier_formats import with_names_of, with_todays_names
from recveil.release.manifest import COUNTS, FileEntry, Manifest, to_bytes
from recveil.verification import verify

LONGER = "activity>=40:1,activity<12:9,else:4"


@pytest.fixture(scope="module")
def card_of(invented, tmp_path_factory):
    """Return how to get the card of an anonymizer's release, which is made once."""

    @cache
    def write(anonymizer):
        folder = tmp_path_factory.mktemp("card") / "out"
        anonymizer.anonymize(invented).write(folder)
        return (folder / "README.md").read_text()

    return write


def plain(card):
    return " ".join(card.split())


@pytest.mark.parametrize("protect", ["none", "shuffle"])
def test_rounded_fills_hide_as_long_as_they_cannot_be_detected(card_of, protect):
    card = plain(card_of(KCoRater(5, "similarity", protect=protect, seed=1)))
    assert (
        "finds at best a group of 5 or more, as long as imputed values cannot be distinguished "
        "from real ratings." in card
    )


@pytest.mark.parametrize("protect", ["none", "shuffle"])
def test_fills_off_the_scale_promise_nothing(card_of, protect):
    rater = KCoRater(5, "similarity", round_fills=False, protect=protect, seed=1)
    card = plain(card_of(rater))
    assert "finds at best a group" not in card
    assert "This hides no user" in card


SEEN = {
    "sparse": (
        SparseRows(5, seed=1),
        "to find similar users, sees which items such users choose",
    ),
    "long rows": (
        SparseRows(5, seed=1),
        "rated far more items than all others makes the records of their class by far the longest",
    ),
    "measured elsewhere": (
        SparseRows(5, seed=1),
        "measured on other releases (0.5 is a random guess, 1 is certainty): on half of the users "
        "of MovieLens 100K with k = 5, 0.96 from all ratings",
    ),
    "sampled items": (
        SparseRows(5, seed=1),
        "Items with fewer than 5 raters were omitted; sampling may have missed others.",
    ),
    "model": (
        PredictiveAnonymizer(5, values="predicted", seed=1),
        "0.98 from all ratings of a user, and of 0.70 from eight",
    ),
    "k-coRating": (KCoRater(5, seed=1), "to find the record, sees their real ratings."),
    "shuffle": (
        KCoRater(5, protect="shuffle", seed=1),
        "sees the real ratings of the group, but not which member gave which.",
    ),
    "mean": (KCoRater(5, protect="mean", seed=1), "sees the mean ratings of the group."),
    "simple": (PredictiveAnonymizer(5, "simple", seed=1), "sees the mean ratings of the group."),
    "levels": (
        PredictiveAnonymizer(4, "simple", privacy_levels=LONGER, seed=1),
        "sees the mean ratings of the group, or the real ratings of a user with a record of their",
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_is_seen_of_whom_is_found(card_of, name):
    anonymizer, words = SEEN[name]
    assert words in plain(card_of(anonymizer))


def test_noisy_counts_decide_which_items_are_left_out(card_of):
    card = plain(card_of(Synthesizer(60.0, scale=(1, 5, 1), ledger="none")))
    assert "No synthetic user has the others, whose noisy counts of raters are too low." in card


@pytest.mark.parametrize(
    ("homogenize", "sentences"),
    [
        (
            "simple",
            [
                "or all who rated it agree, the value is their exact rating",
                "most values on the scale are such: 94% of them",
                "computes 84% of the ratings of the last one",
                "AUC of 0.98 from 16 known ratings",
            ],
        ),
        (
            "padded",
            [
                "Who rated what is not hidden",
                "marks 63% of the rated cells with a precision of 95%",
                "yields 52% of the ratings that one member alone gave, exactly",
                "24% of the users to their record from eight items",
                "Membership is not hidden",
                "AUC of 0.98 from 16 known ratings, and of 0.998 from all",
            ],
        ),
    ],
)
def test_what_a_fit_of_all_rows_reveals_is_not_denied(card_of, homogenize, sentences):
    card = plain(card_of(PredictiveAnonymizer(5, homogenize, seed=1)))
    limits = card[card.index("## What is not guaranteed") : card.index("## Files")]
    for sentence in sentences:
        assert sentence in limits


def risks_on(card):
    """Return what the card states of singling out, linkability and inference."""
    points = plain(card.split("## The three risks")[1].split("## What is not")[0])
    found = points.split(" - **")[1:]
    assert [each.split("**")[0] for each in found] == ["Singling out", "Linkability", "Inference"]
    return found


ALONE = PredictiveAnonymizer(4, "simple", privacy_levels=LONGER, seed=1)


@pytest.mark.parametrize(
    ("anonymizer", "bounded"),
    [
        (SparseRows(5, seed=1), "bounded. From these files alone, an adversary picks the right "),
        (ALONE, "**not bounded** for "),
        (KCoRater(5, "random", seed=1), "bounded only for an adversary who knows which items"),
        (KCoRater(5, "similarity", round_fills=False, seed=1), "not bounded. Imputed values"),
        (KCoRater(5, protect="mean", seed=1), "bounded. From these files alone, an adversary"),
    ],
)
def test_a_k_bounds_singling_out_alone(card_of, anonymizer, bounded):
    singling_out, *others = risks_on(card_of(anonymizer))
    assert bounded in singling_out
    assert ("at most 1/5" in singling_out) is ("bounded. I" not in bounded and "**" not in bounded)
    assert all(": not bounded. " in each for each in others)


@pytest.mark.parametrize(
    ("epsilon", "word"), [(3, "bounded"), (8, "weakly bounded"), (20, "not meaningfully bounded")]
)
def test_an_epsilon_bounds_all_three_and_says_how_weakly(card_of, epsilon, word):
    card = card_of(Synthesizer(epsilon, item_catalog="as-rated"))
    singling_out, linkability, inference = risks_on(card)
    stated = plain(card.split("## The three risks")[0])
    assert f"Membership is {word}: " in singling_out
    assert linkability.startswith(f"Linkability**: {word}. ")
    assert f" add is {word}: any conclusion " in inference
    two = re.search(r"probability above \*\*(.*?)\*\*", stated)[1]
    area = re.search(r"AUC above \*\*(.*?)\*\*", stated)[1]
    assert f"at most {two}." in singling_out
    assert f"at most {area}." in linkability


def test_exact_sums_bound_nothing(card_of):
    risks = risks_on(card_of(Synthesizer(None, item_catalog="as-rated", seed=1)))
    assert "no bound follows" in risks[0]
    assert all(": not bounded. " in each for each in risks[1:])


@pytest.mark.parametrize("protect", ["none", "shuffle"])
def test_that_fills_are_detected_is_said(card_of, protect):
    card = plain(card_of(KCoRater(5, "random", protect=protect, seed=1)))
    assert "from eight items without ratings: 81% with item means" in card
    assert "36% with random values" in card


@pytest.mark.parametrize("name", SEEN)
def test_figures_are_of_the_table_they_were_measured_on(card_of, name):
    """What is measured on one table is not said of another."""
    card = plain(card_of(SEEN[name][0]))
    limits = card[card.index("## What is not guaranteed") : card.index("## Files")]
    for point in re.split(r" - (?=[A-Z])", limits):
        if re.search(r"\d %|0\.\d\d", point):
            assert "MovieLens 100K" in point or "in that release" in point


@pytest.mark.parametrize("name", SEEN)
def test_points_follow_each_other_without_a_gap(card_of, name):
    card = card_of(SEEN[name][0])
    points = card.split("## What is not guaranteed\n\n")[1].split("\n\n## ")[0]
    assert not re.search(r"\n\s*\n", points.strip("\n"))


@pytest.mark.parametrize(
    ("anonymizer", "setting", "words"),
    [
        (SparseRows(5, seed=1), "items_below_k", "0.71 by all of somebody's ratings, and 0.59 by"),
        (
            PredictiveAnonymizer(5, values="predicted", seed=1),
            "values_below_k",
            "0.95 by all of somebody",
        ),
    ],
)
def test_older_releases_keep_their_words_and_are_reported(invented, anonymizer, setting, words):
    """They said too little, and labels of rare items revealed their raters' ratings."""
    now = Manifest.of(anonymizer.anonymize(invented).published)
    now = replace(now, counts=dict.fromkeys(COUNTS[now.format], 1))
    before = replace(
        now,
        format="recveil-release-4",
        settings={k: v for k, v in now.settings.items() if k != setting},
    )
    assert words in plain(data_card(before, "ratings.parquet"))
    assert words not in plain(data_card(now, "ratings.parquet"))
    undone = [" ".join(now.method.undone_by(one.settings)) for one in (now, before)]
    assert "Make it anew" not in undone[0]
    assert "Make it anew" in undone[1]
    assert any("Make it anew" in words for words in before.method.made_before(before.settings))
    assert now.method.made_before(now.settings) == ()


@pytest.mark.parametrize("name", SEEN)
def test_no_card_states_the_composition_of_another_method(card_of, name):
    """Version 1.0 stated what two padded releases reveal on the card of every method with a k."""
    card = plain(card_of(SEEN[name][0]))
    point = card.split("Two releases of the same users")[1].split("##")[0]
    assert "%" not in point
    assert "--second-release" in point


@pytest.mark.parametrize("anonymizer", [SparseRows(5, seed=1), KCoRater(5, "random", seed=1)])
def test_a_card_of_version_1_0_still_verifies(invented, tmp_path, anonymizer):
    anonymizer.anonymize(invented).write(tmp_path / "out")
    content = json.loads((tmp_path / "out" / "release.json").read_text())
    content["format"] = "recveil-release-5"
    content["counts"].pop("short_users", None)
    content = with_names_of(5, content)
    (tmp_path / "out" / "classes.csv").write_bytes(
        (tmp_path / "out" / "classes.csv").read_bytes().replace(b"digest,users", b"digest,people")
    )
    content["files"]["classes.csv"] = vars(FileEntry.of(tmp_path / "out" / "classes.csv"))
    manifest = Manifest.from_json(with_todays_names(content, 5))
    now, before = data_cards(manifest, manifest.ratings_file)
    assert "34 % of the people alone" in before
    for card, holds in ((before, True), (now, True), (now.replace("no other", "an other"), False)):
        (tmp_path / "out" / "README.md").write_text(card)
        content["files"]["README.md"] = vars(FileEntry.of(tmp_path / "out" / "README.md"))
        (tmp_path / "out" / "release.json").write_bytes(to_bytes(content))
        assert verify(tmp_path / "out").holds is holds


@pytest.mark.parametrize(("levels", "is_alone"), [("activity>=40:3,else:4", False), (LONGER, True)])
def test_a_card_names_users_with_a_record_of_their_own_only_if_there_are_any(
    invented, tmp_path, levels, is_alone
):
    maker = PredictiveAnonymizer(4, "simple", privacy_levels=levels, seed=1)
    maker.anonymize(invented).write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    card = plain((tmp_path / "out" / "README.md").read_text())
    assert ("record of their own" in card) == (manifest["counts"]["singletons"] > 0) == is_alone


@pytest.mark.parametrize(
    "anonymizer",
    [KCoRater(4, diversity=3, seed=1), PredictiveAnonymizer(4, "simple", closeness=0.3, seed=1)],
)
def test_no_card_of_limited_values_states_that_all_items_are_there(card_of, anonymizer):
    assert "All items that a user rated are in this release." not in plain(card_of(anonymizer))


def test_a_card_states_how_far_item_counts_are_from_the_real_ones(card_of):
    card = plain(card_of(PredictiveAnonymizer(4, padding=0.25, seed=1)))
    assert "and of a share of 0.25 of the other groups, rounded down" in card


def test_a_card_counts_one_item_as_one(tmp_path):
    ratings = Ratings.from_columns(range(6), ["a"] * 6, [1, 1, 1, 5, 5, 5])
    PredictiveAnonymizer(3, "simple", seed=1).anonymize(ratings).write(tmp_path / "out")
    card = plain((tmp_path / "out" / "README.md").read_text())
    assert "6 users and 1 item." in card
    assert verify(tmp_path / "out").holds


@pytest.mark.parametrize("catalog", ["as-rated", None])
def test_a_guarantee_states_that_the_list_of_rated_items_is_taken_for_public(
    invented, tmp_path, catalog
):
    scale = {"scale": RatingScale(1, 5, 1), "ledger": "none", "n_users": 50}
    maker = Synthesizer(50.0, item_catalog=catalog, **scale)
    maker.anonymize(invented).write(tmp_path / "out")
    manifest = Manifest.from_json(json.loads((tmp_path / "out" / "release.json").read_text()))
    card = (tmp_path / "out" / "README.md").read_text()
    guarantee = plain(card).partition("## What is guaranteed")[2].partition("## What is not")[0]
    is_conditional = catalog == "as-rated"
    assert ("if the list of items in the data is public" in guarantee) is is_conditional
    assert ("computed from the data but the list" in guarantee) is is_conditional
    cards = data_cards(manifest, manifest.ratings_file)
    assert cards[0] == card
    # Releases from before this sentence still verify.
    assert len(cards) == 1 + is_conditional
