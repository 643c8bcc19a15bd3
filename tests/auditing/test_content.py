import numpy as np
import pytest

from recveil.attacks import AttackTarget
from recveil.auditing.release_attacks import measure_content
from recveil.auditing.table_attacks import attack_graphs, similarity
from recveil.io import write_ratings
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from recveil.release.manifest_reader import known_manifest
from shared.auditing_content import audited, ratings  # noqa: F401 (fixtures)


def test_a_simple_release_reveals_companions_and_labels(audited):
    release = audited(k=4, method="predictive", homogenize="simple")["release"]
    assert release["fills"] is None
    assert release["companions"]["correct"]["rate"] == 1.0
    assert release["companions"]["inferred"]["low"] > release["companions"]["control"]["high"]
    assert release["values"]["whole_exact"]["rate"] == pytest.approx(release["values_exact"])
    assert any("all other users of a class" in sentence for sentence in release["verdict"])


def test_a_padded_release_has_no_companions(audited):
    release = audited(k=4, method="predictive", homogenize="padded")["release"]
    assert release["companions"] is None
    assert release["values"]["possible"] is None


def test_nothing_is_learned_where_nothing_was_filled_in(audited):
    release = audited(k=4, method="predictive", homogenize="simple")["release"]
    assert all("likely-rated" not in attack["by_attack"] for attack in release["attacks"])


def test_the_raw_table_has_the_papers_measures(audited):
    plain = audited(k=4, method="predictive", homogenize="simple")
    assert {attack["attack"] for attack in plain["graph_attacks"]} == {
        "structure-based",
        "label-based",
        "homogeneity",
    }
    attacked = {attack["name"]: attack["targets_attacked"] for attack in plain["attacks"]}
    for entry in plain["deanonymized"]:
        if attacked[entry["adversary"]]:
            assert entry["control"] < entry["omega"]["high"]
        else:
            assert entry["control"] is entry["omega"]["rate"] is None
    names = [entry["adversary"] for entry in plain["deanonymized"]]
    assert names[::3] == [attack["name"] for attack in plain["attacks"]]


def test_one_group_of_all_users_hides_all(ratings, tmp_path):
    """The null release: no user is alone by the papers' attacks, nor identified by labels."""
    write_ratings(ratings, tmp_path / "ratings.csv")
    anonymize(
        tmp_path / "ratings.csv",
        tmp_path / "out",
        k=ratings.n_users,
        method="predictive",
        homogenize="simple",
        seed=1,
        scale=RatingScale(1, 5, 1),
    )
    table = AttackTarget.from_folder(tmp_path / "out", ratings)
    for attack in attack_graphs(ratings, table, np.arange(150)):
        if attack.attack != "homogeneity":  # what all gave together is no user's secret
            assert attack.expected.rate <= attack.baseline + 1e-12
    result = measure_content(ratings, table, known_manifest(tmp_path / "out"), np.arange(150))
    assert result.possible.distance.mean == pytest.approx(0, abs=1e-12)


def test_similarity_is_symmetric_and_full_with_oneself(ratings):
    assert similarity(ratings, 3, 3) == 1.0
    assert similarity(ratings, 3, 4) == similarity(ratings, 4, 3)
