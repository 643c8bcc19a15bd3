import pytest

from shared.auditing_content import audited, ratings  # noqa: F401 (fixtures)


def test_a_co_rated_release_reveals_fills(audited):
    plain = audited(k=4, method="k-corating")
    fills = plain["release"]["fills"]
    assert [fill["users_known"] for fill in fills] == [0, 2, 8]
    assert set(fills[-1]["precision"]) == {"0.1", "0.25", "0.5"}
    assert fills[-1]["precision"]["0.5"]["rate"] > fills[-1]["base_rate"]
    assert plain["release"]["companions"] is None
    assert (
        sum("learns to recognize fills" in sentence for sentence in plain["release"]["verdict"])
        == 2
    )


def test_who_learned_what_fills_look_like_counts_among_the_attacks(audited):
    """The stronger of the two stands in the attacks: who strikes by a rule, or who learned."""
    release = audited(k=4, method="k-corating")["release"]
    learned = release["fills"][0]
    attacked = [attack for attack in release["attacks"] if attack["targets_attacked"]]
    assert len(attacked) > 1
    for attack in attacked:
        by_attack = {name: result["rate"] for name, result in attack["by_attack"].items()}
        assert "likely-rated" in by_attack
        assert attack["reidentified"]["rate"] == max(by_attack.values())
    (bystander,) = (attack for attack in release["attacks"] if attack["name"] == "bystander")
    rate = bystander["by_attack"]["likely-rated"]["rate"]
    assert learned["users_known"] == 0
    assert rate == pytest.approx(learned["reidentified"]["rate"])
    assert rate > 2 * learned["reidentified_by_items_alone"]["rate"]
    assert bystander["attack"] == "likely-rated"
