"""Erasure: what releases have of a user, and the log. The oracle of series is in tests/shared."""

import hashlib
import itertools
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import recveil
from error_assertions import raises
from recveil.attacks.membership.inference import only
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.methods import anonymize, dry_run, forget, sample
from recveil.methods.earlier_releases import find_earlier
from recveil.publish import budget
from recveil.ratings import Ratings
from recveil.runtime.errors import notes_of
from recveil.verification import verify
from shared.methods_next_release import MANY, RATINGS, declare, publish, rows_of

# Users 1 to 44; then eight leave and ten join; then three leave, three join, and one comes back.
MONTHS = [
    np.arange(44),
    np.concatenate([np.arange(8, 44), np.arange(50, 60)]),
    np.concatenate([[0], np.arange(11, 44), np.arange(50, 63)]),
]
K = 5
STAYS, LEFT, JOINED, WAITS, UNKNOWN = (RATINGS.users[at] for at in (20, 3, 55, 61, 68))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return publish(MONTHS, tmp_path_factory.mktemp("series"), K)


@pytest.fixture
def series(written, tmp_path):
    """Return a copy of the series, which a test may change."""
    folder = shutil.copytree(written[0].parent, tmp_path / "series")
    return [folder / each.name for each in written]


@pytest.fixture
def today(tmp_path):
    """Return the table of the last month as a file."""
    table = only(RATINGS, MONTHS[-1])
    file = tmp_path / "today.csv"
    table.to_pandas()[["user_id", "item_id", "rating"]].to_csv(file, index=False)
    return file


def content_of(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, by their paths."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def entries_of(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_user_of_a_series_is_found_in_each_release(series):
    found = forget(series[-1], user=STAYS)
    rows = [rows_of(release) for release in series]
    same = [{user for user, row in each.items() if row == each[STAYS]} for each in rows]
    assert [trace.folder for trace in found.traces] == series
    assert [trace.class_size for trace in found.traces] == list(map(len, same))
    assert found.n_candidates == len(set.intersection(*same)) >= K
    there = [set(RATINGS.users[month].tolist()) for month in MONTHS]
    others = [len(each & users) - 1 for each, users in zip(same, there, strict=True)]
    assert [trace.n_others for trace in found.traces] == others
    assert {trace.status for trace in found.traces} == {"in-table"}
    for trace in found.traces:
        table = pq.read_table(f"{trace.folder}.private/assignment.parquet").to_pylist()
        own = [each["published_id"] for each in table if each["user_id"] == STAYS]
        assert list(trace.record_ids) == own
    assert (found.decision, found.n_missing, found.others, found.n_unknown) == (
        "row-kept",
        0,
        (),
        0,
    )


def test_who_left_joined_waits_or_is_unknown_is_distinguished(series, today, tmp_path):
    left, joined = (forget(series[-1], user=user) for user in (LEFT, JOINED))
    assert [trace.status for trace in left.traces] == ["in-table", "row-kept", "row-kept"]
    assert [trace.status for trace in joined.traces] == ["absent", "in-table", "in-table"]
    rows = [rows_of(release) for release in series]
    same = {user for user in rows[1] if all(r[user] == r[JOINED] for r in rows[1:])}
    assert joined.n_candidates == len(same - rows[0].keys()) >= K
    output = tmp_path / "cleaned.csv"
    waits = forget(series[-1], user=WAITS, ratings=today, output=output)
    assert (waits.decision, waits.n_candidates, waits.is_known) == ("not-published", None, True)
    assert WAITS not in recveil.read(output).users


def test_a_log_that_is_elsewhere_is_missed(series, today, tmp_path):
    shutil.move(f"{series[-2]}.private", tmp_path / "moved.private")
    with pytest.warns(UserWarning, match="1 private folder of the series"):
        dry_run(today, series[0].parent / "next", previous=f"{series[-1]}.private", k=K)


def test_a_user_without_a_release_is_logged_and_not_published_later(series, today, tmp_path):
    """One waits for a class, of whom no private folder knows, and one is nowhere."""
    for user in (WAITS, UNKNOWN):
        found = forget(series[-1], user=user)
        assert (found.decision, found.is_known) == ("not-published", False)
        assert found.sentences()[0].startswith("In no release; logged:")
        assert entries_of(found.log)[-1]["decision"] == "not-published"
    found = forget(series[-1], user=UNKNOWN, ratings=today, output=tmp_path / "cleaned.csv")
    assert recveil.read(found.cleaned).n_users == recveil.read(today).n_users
    with raises("id.erased", "1 user", "line 1 of month-2.private/erasures.jsonl") as caught:
        dry_run(today, series[0].parent / "next", previous=f"{series[-1]}.private", k=K)
    assert notes_of(caught.value) == [f"erased: '{WAITS}'"]
    assert f"'{WAITS}'" not in str(caught.value)


@pytest.mark.parametrize("notation", ["0{}", " {} ", "{}.0", "{}.00", "+{}", "2.1e1"])
def test_an_erased_user_is_rejected_in_any_notation(series, today, notation):
    table, other = today.read_text(), notation.format(STAYS)
    rows = [line for line in table.splitlines()[1:] if line.startswith(f"{STAYS},")]
    with raises("id.unknown", f"'{STAYS}'"):
        forget(series[-1], user=other)
    log = forget(series[-1], user=STAYS).log
    lines = [
        line.replace(f"{STAYS},", f'"{other}",', 1) if line in rows else line
        for line in table.splitlines()
    ]
    today.write_text("\n".join([*lines, ""]))
    folder = series[0].parent
    with raises("id.erased", "line 1 of month-2.private/erasures.jsonl") as caught:
        dry_run(today, folder / "next", previous=f"{series[-1]}.private", k=K)
    assert other in notes_of(caught.value)[0]
    # Earlier versions logged the id alone as it was given.
    entry = {k: v for k, v in entries_of(log)[0].items() if k != "normal_sha256"}
    log.write_text(f"{json.dumps(entry)}\n")
    with raises("id.erased"):
        dry_run(today, folder / "next", previous=f"{series[-1]}.private", k=K)


def test_the_log_of_an_odd_notation_rejects_the_usual_one(series, today):
    lines = [
        line.replace(f"{WAITS},", f"0{WAITS},", 1) if line.startswith(f"{WAITS},") else line
        for line in today.read_text().splitlines()
    ]
    odd = today.with_name("odd.csv")
    odd.write_text("\n".join([*lines, ""]))
    assert forget(series[-1], user=f"0{WAITS}", ratings=odd).is_known
    with raises("id.erased"):
        dry_run(today, series[0].parent / "next", previous=f"{series[-1]}.private", k=K)


def test_two_notations_in_one_table_are_two_users(series, today):
    today.write_text(f"{today.read_text()}0{STAYS},{RATINGS.items[0]},3\n")
    assert forget(series[-1], user=f"0{STAYS}", ratings=today).decision == "not-published"


def test_no_published_file_changes_and_the_log_has_no_id(series, tmp_path):
    before = [content_of(release) for release in series]
    for user in (STAYS, LEFT):
        log = forget(series[-1], user=str(user)).log
    assert [content_of(release) for release in series] == before
    assert log == Path(f"{series[-1]}.private", "erasures.jsonl")
    assert log.stat().st_mode & 0o777 == 0o600
    first, second = entries_of(log)
    for entry, user in ((first, STAYS), (second, LEFT)):
        salted = f"{entry['salt']}{user}".encode()
        assert entry["user_sha256"] == hashlib.sha256(salted).hexdigest()
    assert first["salt"] != second["salt"]
    assert (first["decision"], first["candidates"] >= K) == ("row-kept", True)
    digests = [hashlib.sha256((each / "release.json").read_bytes()).hexdigest() for each in series]
    assert [each["sha256"] for each in first["releases"]] == digests
    assert not {"user", "record_ids", "private"} & {*first, *first["releases"][0]}


def test_no_representation_or_pickle_shows_the_user(tmp_path):
    table = make_ratings(40, 20, 400, seed=2)
    names = np.array([f"subject-{n:03}" for n in range(40)], object)
    anonymize(replaced(table, names), tmp_path / "out", k=K, seed=1)
    found = forget(tmp_path / "out", user="subject-007")
    shown = repr(found) + str(found) + found._repr_html_() + repr(found.newest)
    assert "subject" not in shown
    assert found.newest.record_ids[0] not in shown
    assert "subject" not in repr(recveil.methods.ErasureRequest(release="out", user="subject-007"))
    assert "7" not in repr(recveil.methods.ErasureRequest(release="out", user=7))
    for private in (found, found.newest):
        with pytest.raises(TypeError):
            pickle.dumps(private)
    assert "subject" not in found.log.read_text()


def replaced(table: Ratings, users: np.ndarray) -> Ratings:
    parts = {name: getattr(table, name) for name in ("items", "indptr", "indices", "values")}
    return Ratings(users=users, **parts, days=table.days, scale=table.scale)


# With k = 12, all users share one row. Only user 1 rated item 9.
TWELVE = [
    *((user, 1, 5) for user in (1, 2, 3, 4)),
    *((user, 2, 3 + (user == 4)) for user in (1, 2, 3, 4)),
    *((user, item, 2) for user in (5, 6, 7, 8) for item in (3, 4)),
    *((user, item, 4) for user in (9, 10, 11, 12) for item in (5, 6)),
    (1, 9, 1),
]


def test_exact_values_of_a_hand_worked_table_are_counted(tmp_path):
    """Of user 1: all raters agree on item 1; item 2 has the mean 3.25; item 9 is theirs alone."""
    ratings = Ratings.from_columns(*zip(*TWELVE, strict=True), scale=(1, 5, 1))
    options = {"k": 12, "method": "predictive", "homogenize": "simple", "seed": 1}
    anonymize(ratings, tmp_path / "out", allow_sparse_coverage=True, **options)
    found = {}
    for user in (1, 4, 5):
        output = tmp_path / f"{user}.csv"
        found[user] = forget(tmp_path / "out", user=user, ratings=ratings, output=output)
    counts = {user: each.newest.exact[:3] for user, each in found.items()}
    assert counts == {1: (3, 2, 2), 4: (2, 1, 1), 5: (2, 2, 2)}
    assert all(each.newest.exact.same_ratings for each in found.values())
    assert {each.decision for each in found.values()} == {"replace"}
    assert found[1].newest.class_size == 12
    cleaned = (tmp_path / "1.csv").read_text().splitlines()
    expected = sorted(f"{user},{item},{rating}" for user, item, rating in TWELVE if user != 1)
    assert sorted(cleaned[1:]) == expected
    assert ratings.n_ratings == len(TWELVE)


@pytest.mark.parametrize(
    ("options", "is_exact"),
    [
        ({"method": "k-corating", "fill": "item-mean"}, True),
        ({"method": "k-corating", "fill": "item-mean", "hide_items": True}, True),
        ({"method": "predictive", "layout": "groups"}, False),
        ({"method": "predictive", "homogenize": "simple", "hide_items": True}, False),
    ],
)
def test_methods_that_publish_ratings_have_to_be_replaced(tmp_path, options, is_exact):
    """Filled rows contain all real ratings; the class of k-corating has the same items."""
    table = make_ratings(40, 20, 400, seed=2)
    anonymize(table, tmp_path / "out", k=K, seed=1, predictor=None, **options)
    found = forget(tmp_path / "out", user=table.users[5], ratings=table)
    exact = found.newest.exact
    assert (found.decision, found.cleaned) == ("replace", None)
    assert found.newest.class_size == found.n_candidates >= K
    assert exact.n_ratings == table.activity[5]
    assert (exact.n_exact == exact.n_ratings) == is_exact
    words = found.to_dict()["next_command"].split()
    assert {"--force", "--method", options["method"]} <= set(words)
    assert ("--hide-items" in words, "simple" in words) == (
        options.get("hide_items", False),
        options.get("homogenize") == "simple",
    )


@pytest.mark.parametrize(
    "options",
    [
        {"method": "predictive", "homogenize": "simple", "b": 2, "l": 2},
        {"method": "predictive", "homogenize": "padded", "padding": 0.5},
        {"method": "k-corating", "fill": "similarity", "neighbours": 7, "closeness": 0.9},
    ],
)
def test_the_next_release_has_the_numbers_of_the_last(tmp_path, options):
    table = make_ratings(60, 30, 700, seed=2)
    anonymize(table, tmp_path / "out", k=K, seed=1, **options)
    command = forget(tmp_path / "out", user=table.users[5]).to_dict()["next_command"]
    expected = f"--k {K} " + " ".join(f"--{name} {value}" for name, value in options.items())
    words = zip(*[iter(expected.split())] * 2, strict=True)
    assert all(f" {name} {value} " in f"{command} " for name, value in words)


def test_the_next_release_has_the_files_of_the_last(tmp_path):
    table = make_ratings(60, 30, 700, seed=2)
    lines = ["item_id,title", *(f"{item},film {item}" for item in table.items)]
    (tmp_path / "films.csv").write_text("\n".join(lines))
    options = {"file_format": "csv", "item_table": tmp_path / "films.csv"}
    anonymize(table, tmp_path / "out", k=K, seed=1, **options)
    words = forget(tmp_path / "out", user=table.users[5]).to_dict()["next_command"].split()
    pairs = {*itertools.pairwise(words)}
    assert {("--layout", "users"), ("--file-format", "csv"), ("--item-table", "ITEMS")} <= pairs
    anonymize(table, tmp_path / "plain", k=K, seed=1)
    words = forget(tmp_path / "plain", user=table.users[5]).to_dict()["next_command"].split()
    assert not {"--file-format", "--item-table"} & {*words}


def test_a_damaged_or_foreign_private_folder_is_rejected(series, tmp_path):
    newest = series[-1]
    file = Path(f"{newest}.private", "assignment.parquet")
    whole = file.read_bytes()
    table = pq.read_table(file)
    pq.write_table(
        table.set_column(1, "published_id", table["published_id"].take([0] * len(table))), file
    )
    with raises("private.damaged"):
        forget(newest, user=STAYS)
    file.write_bytes(b"PAR1")
    with raises("release.damaged"):
        forget(newest, user=STAYS)
    file.write_bytes(whole)
    with raises("private.mismatch"):
        forget(newest, user=STAYS, private=f"{series[0]}.private")
    moved = shutil.move(f"{newest}.private", tmp_path / "vault")
    before = content_of(tmp_path)
    with raises("private.not-found"):
        forget(newest, user=STAYS)
    assert content_of(tmp_path) == before
    found = forget(newest, user=STAYS, private=moved)
    assert found.log.parent == tmp_path / "vault"


def test_earlier_releases_that_are_missing_are_counted(series):
    shutil.rmtree(f"{series[1]}.private")
    shutil.rmtree(series[0])
    found = forget(series[-1], user=STAYS)
    assert ([trace.folder for trace in found.traces], found.n_missing) == ([series[-1]], 2)
    assert entries_of(found.log)[0]["missing_releases"] == 2


def test_only_the_newest_release_that_keeps_its_claim_is_taken(series):
    with raises("release.followed", series[-1].name):
        forget(series[1], user=STAYS)
    with (series[0] / "README.md").open("a") as card:
        card.write("more")
    with raises("claim.false", series[0].name):
        forget(series[-1], user=STAYS)


def test_no_output_replaces_an_input_or_a_private_file(series, today, tmp_path):
    before = content_of(tmp_path)
    private = Path(f"{series[-1]}.private")

    def given(**paths):
        return forget(series[-1], user=STAYS, **{"ratings": today} | paths)

    with raises("option.required"):
        given(ratings=None, output=tmp_path / "new.csv")
    with raises("output.exists"):
        given(output=today)
    with raises("output.is-input"):
        given(output=today, force=True)
    for log in (today, private / "private.json"):
        with raises("output.exists" if log == today else "output.place"):
            given(output=tmp_path / "new.csv", log=log)
    for place in (series[-1] / "new.csv", private / "new.csv", Path("-")):
        with raises("output.place"):
            given(output=place)
    with raises("output.place"):
        given(output=tmp_path / "log.csv", log=tmp_path / "log.csv")
    with raises("output.not-writable"):
        given(output=tmp_path / "new.csv", log=tmp_path / "none" / "log")
    assert content_of(tmp_path) == before
    (private / "erasures.jsonl").symlink_to(tmp_path / "elsewhere")
    with raises("output.not-writable"):
        given(output=tmp_path / "new.csv")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("text", ["other\n", "{}\n", '{"recveil_erasure": 1}', "[]\n", "\udc80"])
def test_a_file_that_is_no_log_is_not_appended_to(series, tmp_path, text):
    log = tmp_path / "log.jsonl"
    log.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = log.read_bytes()
    with raises("output.exists", "log.jsonl"):
        forget(series[-1], user=STAYS, log=log)
    assert log.read_bytes() == before


def test_the_log_survives_a_replaced_release(tmp_path):
    table = only(RATINGS, MONTHS[0])
    anonymize(table, tmp_path / "out", k=K, seed=1)
    before = forget(tmp_path / "out", user=STAYS).log.read_bytes()
    anonymize(table, tmp_path / "out", k=K, seed=2, force=True)
    found = forget(tmp_path / "out", user=LEFT)
    assert found.log.read_bytes().startswith(before)
    assert len(entries_of(found.log)) == 2
    assert found.n_unknown == 1  # the release that was replaced
    assert verify(tmp_path / "out", private=tmp_path / "out.private").holds
    assert len(find_earlier(np.array([STAYS]), tmp_path / "out")) == 1


def test_the_next_release_goes_without_the_user(series, today, tmp_path):
    cleaned = tmp_path / "cleaned.parquet"
    found = forget(series[-1], user=STAYS, ratings=today, output=cleaned)
    assert STAYS in recveil.read(today).users
    assert STAYS not in recveil.read(cleaned).users
    command = found.to_dict()["next_command"]
    words = command.replace("NEXT", str(series[0].parent / "next")).split()
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    assert ended.value.code in (0, None)
    output = series[0].parent / "next"
    assert verify(output, against=series[-1]).holds
    assert forget(output, user=STAYS).newest.status == "row-kept"


def test_exit_codes_and_json(series, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(series[0].parent)
    name = series[-1].name

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(["forget", *words])
        return ended.value.code or 0, capsys.readouterr()

    code, shown = run(name, "--user", str(STAYS), "--json", "-")
    document = json.loads(shown.out)
    assert (code, document["decision"], len(document["releases"])) == (0, "row-kept", 3)
    assert document["releases"][0]["record_ids"]
    assert run(name, "--user", "unknown")[0] == 0
    assert run(name, "--user", f"0{STAYS}")[0] == 2
    assert run(name)[0] == 2
    anonymize(RATINGS, tmp_path / "alone", k=K, method="predictive", seed=1)
    code, shown = run(str(tmp_path / "alone"), "--user", str(STAYS))
    assert (code, "recveil anonymize" in shown.out) == (1, True)


def test_the_table_of_today_is_read_as_its_options_say(tmp_path, capsys):
    """A German export, whose columns have other names, with a row without a user."""
    ratings = make_ratings(40, 20, 400, seed=2)
    anonymize(ratings, tmp_path / "out", k=5, seed=1)
    rows = ratings.to_arrow().to_pylist()
    lines = [f"K{row['user_id']};A;{row['item_id']};{row['rating']:g},0;x" for row in rows]
    export = tmp_path / "export.csv"
    export.write_text("\n".join(["Kunde;Art;Artikel;Note;Ort", *lines, ";A;7;3,0;x", ""]))
    whose = f"K{ratings.users[0]}"
    words = ["forget", str(tmp_path / "out"), "--user", whose, "--ratings", str(export)]
    words += ["--item", "Artikel", "--rating", "Note", "-o", str(tmp_path / "cleaned.csv")]
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "user_column (--user-column)" in capsys.readouterr().err
    words += ["--user-column", "Kunde", "--delimiter", ";", "--decimal", ","]
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert (stop.value.code, "--drop-missing-ids" in capsys.readouterr().err) == (2, True)
    with pytest.raises(SystemExit) as stop:
        main([*words, "--drop-missing-ids"])
    said = capsys.readouterr()
    assert "dates without times" in " ".join(said.out.split())
    assert "1 row was dropped" in said.err
    assert "'Ort'" in said.err
    cleaned = recveil.read(tmp_path / "cleaned.csv")
    assert cleaned.n_ratings == ratings.n_ratings - int(ratings.activity[0])
    assert whose not in cleaned.users.tolist()
    with raises("option.required", "--delimiter"):
        forget(tmp_path / "out", user=whose, delimiter=";")


def test_rows_that_were_not_read_are_counted(series, today):
    text = today.read_text()
    today.write_text(f"{text}{UNKNOWN},{RATINGS.items[0]},\n{STAYS},{RATINGS.items[0]},99\n")
    options = {"ratings": today, "drop_off_scale": True}
    found = forget(series[-1], user=UNKNOWN, **options)
    assert found.decision == "not-published"
    assert (found.n_unread, found.unread_reasons) == (1, ("no rating",))
    assert any("1 row of this user that was not read" in each for each in found.sentences())
    found = forget(series[-1], user=STAYS, **options)
    assert (found.n_unread, found.unread_reasons) == (1, ("off scale",))
    assert not forget(series[-1], user="nobody", **options).is_known


def test_erased_users_are_not_published_again(series, today, tmp_path):
    cleaned, folder = tmp_path / "cleaned.csv", series[0].parent
    log = forget(series[-1], user=STAYS, ratings=today, output=cleaned).log
    forget(series[-1], user=LEFT)
    options = {"k": K, "allow_sparse_coverage": True}
    for attempt in anonymize, dry_run:
        with raises("id.erased", series[-1].name, "1 user"):
            attempt(today, folder / "next", previous=f"{series[-1]}.private", k=K)
    anonymize(cleaned, folder / "next", previous=f"{series[-1]}.private", **options)
    # The log is that of a release before.
    with raises("id.erased", "next"):
        dry_run(today, folder / "later", previous=folder / "next.private", k=K)
    lines = log.read_text().splitlines()
    log.write_text(f"{lines[1]}\n")  # the user agreed
    dry_run(today, folder / "later", previous=folder / "next.private", k=K)
    log.write_text("{}\n")
    with raises("private.damaged", log.parent.name):
        dry_run(today, folder / "later", previous=folder / "next.private", k=K)


def test_dates_and_attributes_go_on_as_the_command_says(tmp_path):
    months = [np.arange(90), np.r_[8:90, 100:130]]
    newest = publish(months, tmp_path, K, MANY, dates="month")[-1]
    table, cleaned = only(MANY, months[-1]), tmp_path / "cleaned.csv"
    found = forget(newest, user=MANY.users[20], ratings=table, output=cleaned)
    assert (found.decision, found.newest.status) == ("row-kept", "in-table")
    assert found.n_candidates >= K
    others = np.setdiff1d(table.users, MANY.users[20])
    users = declare(others, 2, tmp_path / "users.csv")
    command = found.to_dict()["next_command"]
    assert "--dates month" in command
    words = command.replace("NEXT", str(tmp_path / "next")).replace("USERS", str(users)).split()
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    assert ended.value.code in (0, None)
    assert verify(tmp_path / "next", against=newest, private=tmp_path / "next.private").holds
    assert forget(tmp_path / "next", user=MANY.users[20]).newest.status == "row-kept"


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """Return a folder with a model, a sample of it, and the ledger, and the ratings."""
    folder, ratings = tmp_path_factory.mktemp("sampled"), make_ratings(200, 30, 3_000, seed=3)
    options = {"scale": "1:5:1", "item_catalog": "as-rated", "ledger": folder / "ledger"}
    anonymize(ratings, folder / "model", epsilon=5, layout="model", **options)
    sample(folder / "model", folder / "out", n_users=20)
    return folder, ratings


def test_a_sample_has_the_private_folder_and_the_log_of_its_model(sampled, tmp_path):
    folder, ratings = shutil.copytree(sampled[0], tmp_path / "here"), sampled[1]
    (folder / "other.private").mkdir()
    (folder / "other.private" / "private.json").write_text("{")
    found = [forget(folder / name, user=ratings.users[0]) for name in ("model", "out")]
    for each in found:
        assert each.log == folder / "model.private" / "erasures.jsonl"
        assert (each.decision, each.others) == ("nothing-to-withdraw", ())
    assert [each["releases"][0]["release"] for each in entries_of(found[0].log)] == ["model", "out"]
    unknown = forget(folder / "out", user="nobody")
    assert (unknown.decision, unknown.total) == ("not-published", None)
    private = shutil.move(folder / "model.private", tmp_path / "vault")
    with raises("private.not-found", "out was sampled"):
        forget(folder / "out", user=ratings.users[0])
    assert forget(folder / "out", user=ratings.users[0], private=private).is_known
    other = folder / "again"
    anonymize(ratings, other, k=K, seed=1)
    with raises("private.mismatch"):
        forget(folder / "out", user=ratings.users[0], private=f"{other}.private")


def test_a_forget_of_a_sample_holds_the_lock_of_its_model(sampled, monkeypatch):
    locked = []
    alone = recveil.methods._forget.alone
    monkeypatch.setattr(
        recveil.methods._forget, "alone", lambda *of: locked.append(of[1]) or alone(*of)
    )
    for options in {}, {"private": sampled[0] / "model.private"}:
        forget(sampled[0] / "out", user=sampled[1].users[0], **options)
    assert locked == 2 * [sampled[0] / "model"]


def test_an_erasure_states_what_the_ledger_has_of_the_user(sampled, tmp_path, capsys):
    """One more release has half of the users, among them the first one; it is elsewhere."""
    folder, ratings = shutil.copytree(sampled[0], tmp_path / "here"), sampled[1]
    ledger, (first, last) = folder / "ledger", ratings.users[[0, -1]]
    options = {"scale": "1:5:1", "item_catalog": "as-rated", "ledger": ledger}
    (tmp_path / "there").mkdir()
    half = only(ratings, np.arange(100))
    anonymize(half, tmp_path / "there" / "half", epsilon=3, **options)
    of_two, of_one = (
        forget(folder / "out", user=user, ledger=ledger).total for user in (first, last)
    )
    assert (len(of_two.runs), of_two.n_users, of_two.is_same_table) == (2, 1, False)
    assert of_two.epsilon == budget(half, ledger=ledger).epsilon > of_one.epsilon
    assert (len(of_one.runs), of_one.is_same_table) == (1, True)
    assert of_one.epsilon == pytest.approx(5, rel=1e-3)
    # Without this ledger, the releases next to it are counted.
    alone = forget(folder / "out", user=first, ledger="none").total
    assert (alone.n_unrecorded, alone.epsilon) == (1, pytest.approx(5, rel=1e-3))
    with pytest.raises(SystemExit) as ended:
        main(["forget", str(folder / "out"), "--user", str(first), "--ledger", str(ledger)])
    said = " ".join(capsys.readouterr().out.split())
    assert (ended.value.code, said.count("2 runs spent epsilon")) == (0, 1)
    assert f"epsilon {of_two.epsilon:.3g} on this user" in said
    (folder / "ledger").write_text("no ledger")
    lines = entries_of(folder / "model.private" / "erasures.jsonl")
    with raises("ledger.unusable"):
        forget(folder / "out", user=first, ledger=ledger)
    assert entries_of(folder / "model.private" / "erasures.jsonl") == lines
