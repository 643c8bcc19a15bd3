"""Releases of users who are drawn from likes: both checkers, from the published files alone."""

import json
import shutil
from pathlib import Path

import forging
import independent
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_cases import check_forged, refused_by_both

from recveil.datasets import make_ratings
from recveil.methods import sample
from recveil.methods.synthetic.sum_queries import SHARES_OF_LIKES
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.publish.folder import write_model
from recveil.ratings import Ratings
from recveil.release.synthetic_form import QUERIES
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

# By name: epsilon, layout, the file's form, and the catalogue.
MADE = {
    "users": (30.0, "users", "csv", "as-rated"),
    "chosen": (60.0, "users", "parquet", None),
    "model": (30.0, "model", "parquet", "as-rated"),
    "exact": (None, "users", "csv", "as-rated"),
}
NOISY = ["users", "chosen", "model"]


@pytest.fixture(scope="module")
def likes():
    return make_ratings(300, 40, 5_000, seed=3).as_likes()


@pytest.fixture(scope="module")
def made(tmp_path_factory, likes):
    folder = tmp_path_factory.mktemp("drawn-likes")
    for name, (epsilon, layout, form, catalogue) in MADE.items():
        release = Synthesizer(epsilon, item_catalog=catalogue, n_users=50).anonymize(likes)
        release.write(folder / name, layout=layout, file_format=form)
    return folder


@pytest.fixture
def copy_of(made, tmp_path):
    return lambda name: Path(shutil.copytree(made / name, tmp_path / name))


@pytest.mark.parametrize("name", NOISY)
def test_epsilon_is_worked_out_again(made, name):
    found = verify(made / name)
    assert found.epsilon == MADE[name][0]
    assert found.ledger_epsilon == pytest.approx(found.epsilon, rel=1e-6)
    assert found.ledger_epsilon <= found.epsilon


def test_nothing_of_the_private_side_stands_there(made):
    assert verify(made / "users", private=made / "users.private").holds


@pytest.mark.parametrize("name", NOISY)
def test_the_ledger_names_what_was_asked_and_nothing_of_ratings(made, name):
    result = json.loads((made / name / "release.json").read_text())
    assert result["format"] == "recveil-release-9"
    queries = result["claim"]["ledger"]["queries"]
    assert [query["name"] for query in queries] == list(SHARES_OF_LIKES)
    assert not [query for query in queries if "rating" in query["what"]]
    spent = {query["name"]: query["sigma"] ** -2 for query in queries}
    whole = sum(spent.values())
    assert {name: part / whole for name, part in spent.items()} == pytest.approx(SHARES_OF_LIKES)


@pytest.mark.parametrize("name", MADE)
def test_the_card_says_nothing_of_values(made, name):
    card = (made / name / "README.md").read_text()
    assert card.startswith("# Synthetic interactions\n")
    assert ("always 1, for programs that need a rating: the feedback is implicit" in card) == (
        MADE[name][1] == "users"
    )
    about_files = (
        "| `rating` | always 1",
        "`ratings.",
        '("ratings.',
        "ratings = pd.",
        "| item_catalog |",
    )
    lines = [line for line in card.splitlines() if not any(name in line for name in about_files)]
    lines = [line for line in lines if not line.startswith("    ")]  # programs
    rest = "\n".join(lines)
    for word in ("rating", "rated", "worth", "strict", "tenths", "grid", "scale", "label"):
        assert word not in rest, word


def test_the_model_has_no_worth_and_users_are_drawn_from_it(made, likes, tmp_path):
    table = pq.read_table(made / "model" / "model.parquet")
    result = json.loads((made / "model" / "release.json").read_text())
    n_embeddings = 1 + result["settings"]["factors"]
    assert table.column_names == [
        "item_id",
        "offset",
        *(f"factor_{at}" for at in range(n_embeddings)),
    ]
    found = sample(made / "model", tmp_path / "drawn", n_users=400, seed=1)
    assert (found.holds, found.users) == (True, 400)
    assert not list(independent.problems(tmp_path / "drawn"))
    drawn = pq.read_table(tmp_path / "drawn" / "ratings.parquet")
    assert set(drawn["rating"].to_pylist()) == {1.0}
    each = drawn.num_rows / 400
    assert each == pytest.approx(likes.n_ratings / likes.n_users, rel=0.2)


def test_the_lines_on_the_card_draw_a_user(made, monkeypatch):
    card = (made / "model" / "README.md").read_text()
    code = [line[4:] for line in card.splitlines() if line.startswith("    ")]
    start = next(at for at, line in enumerate(code) if line.startswith("import json"))
    monkeypatch.chdir(made / "model")
    names: dict = {}
    for _ in range(3):
        exec("\n".join(code[start:]), names)
        assert set(names["user"]) <= set(range(1, 41))


def other_label(rows):
    rows[0][2] = "2"


def no_label(rows):
    for row in rows:
        del row[2]


ROWS = {**forging.OF_DRAWN_ROWS, "another label": other_label}
# What only a release of likes can get wrong.
OF_LIKES = {
    "feedback": lambda result: result["settings"].pop("feedback"),
    "of stars": lambda result: result["settings"].update(feedback="stars"),
    "the format of ratings": lambda result: result.update(format="recveil-release-5"),
    "a scale": lambda result: result["scale"].update(high=5.0),
    "a step": lambda result: result["settings"].update(value_step=0.1),
    "tilts": lambda result: result["settings"].update(slopes=[], slope_spreads=[]),
    "no directions": lambda result: result["settings"].pop("factors"),
    "directions with a point": lambda result: result["settings"].update(factors=1.0),
    "directions that are true": lambda result: result["settings"].update(factors=True),
    "too many directions": lambda result: result["settings"].update(factors=65),
    "another order": lambda result: result["settings"].update(
        factors=result["settings"].pop("factors")
    ),
}
OF_A_LEDGER = {
    "the queries of ratings": lambda result: result["claim"]["ledger"].update(
        queries=[
            {**result["claim"]["ledger"]["queries"][0], "name": query.name, "what": query.what}
            for query in QUERIES
        ]
    ),
    "a query of ratings more": lambda result: result["claim"]["ledger"]["queries"].append(
        {
            **result["claim"]["ledger"]["queries"][0],
            "name": "rating levels",
            "what": QUERIES[1].what,
        }
    ),
    "the words of ratings": lambda result: result["claim"]["ledger"]["queries"][0].update(
        what=QUERIES[0].what
    ),
    **{name: of for name, of in forging.OF_A_LEDGER.items() if name != "long numbers"},
}


TestRefusedByBoth = refused_by_both(
    NOISY, "exact", ["users"], {**forging.OF_A_PROMISE, **OF_A_LEDGER}, ROWS
)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("change", OF_LIKES)
def test_what_is_none_of_likes_is_refused_by_both(copy_of, name, change):
    folder = copy_of(name)
    forging.forge(folder, OF_LIKES[change])
    check_forged(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.append_column(
            "rating_mean", pa.array(np.zeros(len(table), np.float32))
        ),
        lambda table: table.drop_columns(table.column_names[-1:]),
        lambda table: table.rename_columns(["item_id", "rating_mean", *table.column_names[2:]]),
    ],
    ids=["worth", "a taste less", "another name"],
)
def test_a_model_of_other_columns_is_refused_by_both(copy_of, change):
    folder = copy_of("model")
    file = folder / "model.parquet"
    write_model(change(pq.read_table(file)), file)
    forging.sign(folder)
    check_forged(folder)


def test_a_ledger_of_another_split_is_refused(copy_of):
    """Epsilon follows from it as well; but recveil splits the noise in one way."""

    def change(result):
        queries = result["claim"]["ledger"]["queries"]
        spent = sum(query["sigma"] ** -2 for query in queries)
        for query in queries:
            query["sigma"] = (len(queries) / spent) ** 0.5

    folder = copy_of("users")
    forging.forge(folder, change)
    assert {found.where for found in verify(folder).violations} == {"release.json"}


def test_ids_that_a_spreadsheet_runs_are_reported(tmp_path, likes):
    ids = np.array(sorted(f"=cmd({item})" for item in likes.items), object)
    odd = Ratings(likes.users, ids, likes.indptr, likes.indices, likes.values, None, likes.scale)
    release = Synthesizer(30.0, item_catalog="as-rated", n_users=30).anonymize(odd)
    assert release.write(tmp_path / "out", file_format="csv").holds
    assert not list(independent.problems(tmp_path / "out"))
    assert "Open it as text in a spreadsheet" in (tmp_path / "out" / "README.md").read_text()
