"""A release in which no record is any user's: its files, and epsilon from its ledger."""

import hashlib
import json
import shutil
from pathlib import Path

import forging
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.publish.folder import write_model
from recveil.release.claim import Claim
from recveil.release.data_card import data_card
from recveil.release.ledger import Ledger, Query
from recveil.release.manifest import Manifest, to_bytes
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("synthetic")


@pytest.fixture(scope="module")
def made(tmp_path_factory, synthetic):
    folder = tmp_path_factory.mktemp("drawn")
    ratings = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=4)
    for epsilon, layout in ((20.0, "users"), (20.0, "model"), (None, "users"), (None, "model")):
        name = f"{'exact' if epsilon is None else 'noisy'}-{layout}"
        synthetic(epsilon, n_users=40).anonymize(ratings).write(folder / name, layout=layout)
    return folder


@pytest.fixture
def copy_of(made, tmp_path):
    return lambda name: Path(shutil.copytree(made / name, tmp_path / name))


def manifest_of(folder):
    return json.loads((folder / "release.json").read_text())


def sign(folder, manifest, *, card=True):
    """Renew the card and all checksums after a change."""
    content = next(iter(manifest["files"]))
    if card:
        (folder / "README.md").write_text(data_card(Manifest.from_json(manifest), content))
    for name, entry in manifest["files"].items():
        found = (folder / name).read_bytes()
        entry |= {"sha256": hashlib.sha256(found).hexdigest(), "bytes": len(found)}
    (folder / "release.json").write_bytes(to_bytes(manifest))


def problems(folder):
    return " ".join(violation.problem for violation in verify(folder).violations)


def refused(folder):
    try:
        return not verify(folder).holds
    except RecveilError:
        return True


def test_users_of_a_shared_row_are_not_counted(made):
    verdict = verify(made / "noisy-users")
    assert verdict.holds
    assert (verdict.users, verdict.epsilon, verdict.delta) == (40, 20.0, 1e-6)
    assert verdict.ledger_epsilon == pytest.approx(20, rel=0.02)
    result = verdict.to_dict()
    assert [result[name] for name in ("k_required", "k_achieved", "classes", "singletons")] == [
        None
    ] * 4
    assert not (made / "noisy-users" / "classes.csv").exists()
    assert "epsilon" not in verify(made / "exact-users").claim


def test_the_private_folder_names_users_without_records(made):
    twin = made / "noisy-users.private"
    table = pq.read_table(twin / "assignment.parquet")
    assert table.num_rows == 60
    assert table["published_id"].null_count == 60
    assert (
        "whose ratings the synthetic users were sampled from" in (twin / "private.json").read_text()
    )


def test_the_private_rows_left_out_are_not_counted(made):
    """The number of dropped rows depends on the private table, and was not charged."""
    assert list(manifest_of(made / "noisy-users")["counts"]) == ["users", "values", "items"]
    assert list(manifest_of(made / "noisy-model")["counts"]) == ["items"]


@pytest.mark.parametrize("layout", ["users", "model"])
def test_less_than_the_ledger_adds_up_to_is_not_claimed(copy_of, layout):
    folder = copy_of(f"noisy-{layout}")
    manifest = manifest_of(folder)
    manifest["claim"]["epsilon"] = 2.0
    sign(folder, manifest)
    assert "claims epsilon 2 with delta 1e-06, but its ledger adds up to 19.9" in problems(folder)
    manifest["claim"]["epsilon"], manifest["claim"]["delta"] = 20.0, 1e-9
    sign(folder, manifest)
    assert "adds up to" in problems(folder)
    manifest["claim"]["delta"] = 1e-6
    manifest["claim"]["ledger"]["threshold_delta"] = 1e-6
    sign(folder, manifest)
    assert "takes 1e-06 of it" in problems(folder)


def _claim(**changes):
    def change(manifest):
        manifest["claim"] |= changes

    return change


def _query(**changes):
    def change(manifest):
        manifest["claim"]["ledger"]["queries"][0] |= changes

    return change


def _settings(**changes):
    def change(manifest):
        manifest["settings"] |= changes

    return change


def _drop_claim(name):
    def change(manifest):
        del manifest["claim"][name]

    return change


WAYS = {
    "a note in the claim": _claim(note="p1 is alice"),
    "another unit": _claim(unit="rating"),
    "no unit": _drop_claim("unit"),
    "no ledger": _drop_claim("ledger"),
    "no epsilon": _drop_claim("epsilon"),
    "epsilon as a text": _claim(epsilon="20"),
    "epsilon as a whole number": _claim(epsilon=20),
    "epsilon below zero": _claim(epsilon=-1.0),
    "delta of one": _claim(delta=1.0),
    "an empty ledger": _claim(ledger={"queries": [], "threshold_delta": 0.0}),
    "a ledger that is a list": _claim(ledger=[]),
    "another kind with a ledger": _claim(kind="identical-rows"),
    "the other kind of drawn people": _claim(kind="aggregates"),
    "a note in a query": _query(note="p1 is alice"),
    "no noise": _query(sigma=0.0),
    "endless noise": _query(sigma=1e999),
    "noise that is no number": _query(sigma="1"),
    "no sensitivity": _query(sensitivity=0.0),
    "a name that is a list": _query(name=["alice"]),
    "the claim's name alone": lambda manifest: manifest.update(claim="differentially-private"),
    "a k": lambda manifest: manifest.update(k=5),
    "levels": lambda manifest: manifest.update(levels=True),
    "diversity": lambda manifest: manifest.update(diversity={"b": 2, "l": 3}),
    "groups": lambda manifest: manifest.update(layout="groups"),
    "another count": lambda manifest: manifest["counts"].update(users=41),
    "one more count": lambda manifest: manifest["counts"].update(duplicates_dropped=7),
    "an older format": lambda manifest: manifest.update(format="recveil-release-2"),
    "no noise in the settings": _settings(noise="none"),
    "a share above one": _settings(omitted_share=1.5),
    "a share that is a text": _settings(omitted_share="alice"),
    "hidden items": _settings(items="pseudonyms"),
    "a grid that labels do not keep": _settings(value_step=0.37),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_changed_does_not_hold(copy_of, way):
    folder = copy_of("noisy-users")
    manifest = manifest_of(folder)
    WAYS[way](manifest)
    for card in (False, True):
        try:
            sign(folder, manifest, card=card)
        except (RecveilError, KeyError, TypeError, ValueError):
            continue  # there is no card for such a release
        assert refused(folder)


def _rewrite(folder, change):
    file = folder / "model.parquet"
    table = change(pq.read_table(file))
    write_model(table, file)
    manifest = manifest_of(folder)
    manifest["counts"]["items"] = table.num_rows
    sign(folder, manifest)


MODEL_WAYS = {
    "a column more": lambda table: table.append_column(
        "who", pa.array(np.zeros(table.num_rows, np.float32))
    ),
    "a taste that is numbered otherwise": lambda table: table.append_column(
        "factor_7", pa.array(np.zeros(table.num_rows, np.float32))
    ),
    "numbers of twice the length": lambda table: table.set_column(
        1, "offset", table["offset"].cast(pa.float64())
    ),
    "not numbers": lambda table: table.set_column(
        1, "offset", pa.array(np.full(table.num_rows, np.nan, np.float32))
    ),
    "items in another order": lambda table: table.take(list(range(table.num_rows))[::-1]),
    "an item twice": lambda table: table.take([0, *range(table.num_rows)]),
}


@pytest.mark.parametrize("way", MODEL_WAYS)
def test_a_model_is_what_recveil_writes(copy_of, way):
    folder = copy_of("noisy-model")
    _rewrite(folder, lambda table: table)
    assert verify(folder).holds
    _rewrite(folder, MODEL_WAYS[way])
    assert refused(folder)


def test_metadata_of_a_model_is_refused(copy_of):
    folder = copy_of("noisy-model")
    table = pq.read_table(folder / "model.parquet")
    with pq.ParquetWriter(folder / "model.parquet", table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"who": "p1 is alice"})
    sign(folder, manifest_of(folder))
    assert "it contains metadata in addition to the model" in problems(folder)


def test_every_byte_of_a_model_is_accounted_for(copy_of):
    folder = copy_of("noisy-model")
    file = folder / "model.parquet"
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:footer] + b"alice" + content[footer:])
    sign(folder, manifest_of(folder))
    assert "bytes between its last page and its footer" in problems(folder)


def test_a_rating_given_twice_is_refused(copy_of):
    folder = copy_of("noisy-users")
    file = folder / "ratings.parquet"
    table = pq.read_table(file)
    pq.write_table(table.take([0, *range(table.num_rows)]), file)
    manifest = manifest_of(folder)
    manifest["counts"]["values"] += 1
    sign(folder, manifest)
    assert "its items are not in ascending order, each once" in problems(folder)


def test_a_label_beyond_the_scale_is_refused(copy_of):
    folder = copy_of("noisy-users")
    file = folder / "ratings.parquet"
    table = pq.read_table(file)
    labels = table["rating"].to_numpy().copy()
    labels[3], labels[5] = 5.5, 3.14159
    pq.write_table(table.set_column(2, "rating", pa.array(labels)), file)
    sign(folder, manifest_of(folder))
    assert "outside the scale" in problems(folder)
    assert "not on the grid of 0.1" in problems(folder)


@pytest.mark.parametrize(
    "asked", [{"k": 5}, {"b": 2, "l": 2}, {"links": True}, {"claim": "identical-rows"}]
)
def test_what_is_asked_of_peoples_rows_is_refused(made, asked):
    with raises("option.unsupported"):
        verify(made / "noisy-users", **asked)
    assert verify(made / "noisy-users", claim="differentially-private").holds


def test_rows_of_users_are_not_checked_for_a_claim_about_drawing(tmp_path):
    from recveil.methods import PredictiveAnonymizer

    ratings = make_ratings(n_users=30, n_items=15, n_ratings=200, seed=4)
    PredictiveAnonymizer(5, seed=1).anonymize(ratings).write(tmp_path / "rows")
    with raises("option.unsupported"):
        verify(tmp_path / "rows", claim="differentially-private")
    (tmp_path / "plain.csv").write_text("user_id,item_id,rating\n1,7,4\n2,7,4\n")
    with raises("option.unsupported"):
        verify(tmp_path / "plain.csv", k=2, claim="aggregates")


def test_noise_that_follows_from_a_seed_is_not_published(synthetic, invented, tmp_path):
    with raises("release.refused"):
        synthetic(20.0, seed=1).anonymize(invented).write(tmp_path / "seeded")
    assert not (tmp_path / "seeded").exists()
    synthetic(None, seed=1).anonymize(invented).write(tmp_path / "exact")  # promises nothing of it


@pytest.mark.parametrize("layout", ["groups", "model"])
def test_a_layout_that_makes_no_sense_is_refused(synthetic, invented, tmp_path, layout):
    from recveil.methods import PredictiveAnonymizer

    release = synthetic(20.0).anonymize(invented)
    if layout == "model":
        release = PredictiveAnonymizer(5, seed=1).anonymize(invented)
    with raises("option.unsupported") as error:
        release.write(tmp_path / "out", layout=layout)
    assert f"'{layout}'" in str(error.value)


def test_epsilon_delta_and_ledger_come_together():
    ledger = Ledger((Query("item sums", "who rated each item", 1.0, 1.0, 9),))
    for kind, given in (
        ("differentially-private", {"epsilon": 5.0, "delta": 1e-6}),
        ("differentially-private", {}),
        ("identical-rows", {"epsilon": 5.0, "delta": 1e-6, "ledger": ledger}),
    ):
        with raises("argument.value"):
            Claim(kind, 1, **given)


def test_the_card_says_what_it_means(made):
    card = (made / "noisy-users" / "README.md").read_text()
    for words in (
        "No user in this table is real.",
        "factor of at most **4.85e+08**",
        "The publisher states the rest",
        "| item sums | who rated each item | 25 | 1 |",
    ):
        assert words in card
    exact = (made / "exact-users" / "README.md").read_text()
    assert "Membership is not protected." in exact
    assert "epsilon" not in exact


def test_the_card_says_what_was_pooled(made):
    manifest = manifest_of(made / "noisy-users")
    manifest["settings"]["omitted_share"] = 0.03
    card = data_card(Manifest.from_json(manifest), "ratings.parquet")
    assert "with 97.0% of a user's ratings on\n  average (a noisy figure)" in card


def test_a_model_with_a_gap_among_its_ids_is_refused(tmp_path):
    """Nothing can be compared with an id that is missing."""
    folder = tmp_path / "model"
    shutil.copytree(Path(__file__).parent / "format_3" / "synthetic-model", folder)
    file = folder / "model.parquet"
    table = pq.ParquetFile(file).read()
    ids = pa.array([None, *map(str, table["item_id"].to_pylist()[1:])], pa.string())
    pq.write_table(table.set_column(0, "item_id", ids), file, compression="zstd")
    result = json.loads((folder / "release.json").read_text()) | {"item_type": "text"}
    forging.write(folder, result)
    forging.sign(folder)
    with raises("release.damaged") as error:
        verify(folder)
    assert "model.parquet" in str(error.value)
