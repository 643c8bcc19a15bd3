"""Outputs that would destroy one another, an input or a release are refused before any work."""

import inspect
import os
from pathlib import Path

import pytest

from recveil.cli import main
from recveil.cli.entry import VERBS, make_app
from recveil.cli.outputs import FILES, FOLDERS

RATINGS = "user,item,rating\n" + "".join(
    f"{u},{i},{1 + u * i % 5}\n" for u in range(4) for i in range(5)
)


@pytest.fixture(autouse=True)
def ground(tmp_path, monkeypatch):
    """A table, a release of it, links, and a library that refuses to work."""
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    Path("other.csv").write_text(RATINGS)
    for name in ("old", "old.private", "sub", "empty"):
        Path(name).mkdir()
    Path("old/release.json").write_text('{"format": "recveil-release-3"}')
    Path("old.private/private.json").write_text("{}")
    Path("old.private/assignment.parquet").write_text("who is who")
    Path("link").symlink_to("x.json")
    Path("down").symlink_to("sub")
    Path("hard.csv").hardlink_to("ratings.csv")
    os.mkfifo("pipe")
    Path("shop.db").write_text("a database")
    Path("to-shop").symlink_to("shop.db")
    Path("shop.db-wal").write_text("committed rows")
    Path("hard-wal").hardlink_to("shop.db-wal")
    for name in ("parts", "linked", "inward"):
        Path(name).mkdir()
    for part in range(2):
        Path(f"parts/part-{part}.csv").write_text(RATINGS)
    Path("linked/part-0.csv").symlink_to("../other.csv")
    Path("to-other").symlink_to("other.csv")
    Path("sub/inner.csv").write_text(RATINGS)
    Path("inward/part-0.csv").symlink_to("../sub/inner.csv")
    Path("behind").write_text("published")
    Path("old/README.md").symlink_to("../behind")

    def work(*_, **__):
        raise AssertionError("the work began")

    for place in (
        *("recveil.auditing.audit", "recveil.auditing.selftest", "recveil.methods.anonymize"),
        *("recveil.methods.sample", "recveil.verification.verify", "recveil.evaluation.evaluate"),
        *("recveil.comparison.compare", "recveil.publish.convert", "recveil.datasets.generate"),
        *("recveil.demo.demo", "recveil.io.understand"),
    ):
        monkeypatch.setattr(place, work)


def ended(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    streams = capsys.readouterr()
    return stop.value.code, streams.out, " ".join(streams.err.replace("│", " ").split())


AUDIT, EVALUATE = (
    ("audit", "ratings.csv"),
    ("evaluate", "--train", "ratings.csv", "--release", "old"),
)
ANONYMIZE = ("anonymize", "ratings.csv", "--k", "2")
BOTH = "are the same path"
REFUSED = [
    # at one place
    ((*AUDIT, "--html", "x", "--risk", "x"), BOTH),
    ((*AUDIT, "--html", "x", "--risk", "./x"), BOTH),
    ((*AUDIT, "--html", "x.json", "--json", "link"), BOTH),
    ((*AUDIT, "--html", "sub/x", "--json", "down/x"), BOTH),
    ((*AUDIT, "--html", "pipe", "--json", "pipe"), BOTH),
    (("convert", "ratings.csv", "x.csv", "--json", "sub/../x.csv"), BOTH),
    (("generate", "x.csv", "--json", "x.csv"), BOTH),
    ((*ANONYMIZE, "-o", "x", "--json", "x"), BOTH),
    ((*ANONYMIZE, "-o", "x", "--json", "x.private"), BOTH),
    (("demo", "-o", "x", "--json", "x-synthetic"), BOTH),
    (("sample", "old", "--n-users", "9", "-o", "x", "--json", "x"), BOTH),
    (("compare", "ratings.csv", "-o", "x", "--json", "x"), BOTH),
    (("forget", "old", "--user", "1", "--log", "x", "--json", "x"), BOTH),
    # in a folder that is written
    ((*ANONYMIZE, "-o", "empty", "--json", "empty/x.json"), "would be inside --output empty"),
    ((*ANONYMIZE, "-o", "sub", "--json", "down/x.json", "--force"), "would be inside --output sub"),
    ((*ANONYMIZE, "-o", "old", "--json", "old.private/x", "--force"), "which also writes"),
    (("sample", "old", "--n-users", "9", "-o", "empty", "--json", "empty/x"), "would be inside"),
    (("demo", "-o", "empty", "--json", "empty/x"), "would be inside"),
    (("compare", "ratings.csv", "-o", "empty", "--json", "empty/x"), "would be inside"),
    # an input
    ((*AUDIT, "--json", "hard.csv"), "is the input itself"),
    ((*AUDIT, "--auxiliary", "other.csv", "--html", "other.csv"), "is an input itself"),
    ((*AUDIT, "--item-catalog", "other.csv", "--risk", "./other.csv"), "is an input itself"),
    ((*EVALUATE, "--test", "other.csv", "--json", "other.csv"), "is the input itself"),
    (("verify", "ratings.csv", "--k", "2", "--json", "ratings.csv"), "is the input itself"),
    (("selftest", "ratings.csv", "--json", "ratings.csv"), "is the input itself"),
    (("compare", "ratings.csv", "-o", "x", "--json", "hard.csv"), "is the input itself"),
    (("convert", "ratings.csv", "x.csv", "--json", "ratings.csv"), "is the input itself"),
    (("convert", "ratings.csv", "hard.csv", "--force"), "is the input itself"),
    ((*ANONYMIZE, "-o", "x", "--trust", "other.csv", "--json", "other.csv"), "is an input itself"),
    ((*ANONYMIZE, "-o", "x", "--privacy-levels", "other.csv", "--json", "other.csv"), "an input"),
    ((*ANONYMIZE, "-o", "x", "--item-catalog", "other.csv", "--json", "other.csv"), "an input"),
    ((*ANONYMIZE, "-o", "old", "--earlier-release", "old", "--force"), "is an input itself"),
    (("sample", "old", "--n-users", "9", "-o", "./old", "--force"), "is an input itself"),
    (("forget", "old", "--user", "1", "--ratings", "other.csv", "--log", "other.csv"), "an input"),
    (("forget", "old", "--user", "1", "--ledger", "other.csv", "--log", "other.csv"), "an input"),
    # a file that is part of an input
    (("selftest", "parts/part-*.csv", "--json", "parts/part-1.csv"), "is a file of the input"),
    (("selftest", "file://{here}/parts/*.csv", "--json", "parts/part-1.csv"), "is a file of"),
    (("anonymize", "parts/*", "--k", "2", "-o", "x", "--json", "parts/part-0.csv"), "a file of"),
    (("convert", "parts/part-*.csv", "parts/part-0.csv", "--force"), "is a file of the input"),
    (("convert", "parts/*.csv", "x.csv", "--json", "parts/part-0.csv"), "is a file of the input"),
    (("compare", "parts/*.csv", "-o", "x", "--json", "parts/part-0.csv"), "is a file of the input"),
    (("audit", "linked", "--html", "other.csv"), "is a file of the input linked"),
    (("audit", "linked/*", "--risk", "other.csv"), "is a file of the input linked/*"),
    (("selftest", "linked", "--json", "to-other"), "is a file of the input linked"),
    (("anonymize", "linked", "--k", "2", "-o", "x", "--json", "other.csv"), "is a file of"),
    (("anonymize", "inward", "--k", "2", "-o", "sub", "--force"), "inward is inside the output"),
    ((*EVALUATE, "--test", "linked", "--json", "other.csv"), "is a file of the input linked"),
    (("verify", "old", "--json", "behind"), "is a file of the input old"),
    (("verify", "old", "--private", "old.private", "--json", "behind"), "is a file of"),
    (("verify", "old", "--ratings", "other.csv", "--json", "other.csv"), "is an input itself"),
    (("convert", "shop.db", "shop.db-wal", "--force"), "that a database keeps next to SOURCE"),
    (("convert", "shop.db", "shop.db-journal"), "that a database keeps next to SOURCE shop.db"),
    (("selftest", "sqlite:///shop.db", "--json", "shop.db-shm"), "a file that a database keeps"),
    (("selftest", "duckdb:///shop.db", "--json", "shop.db.wal"), "a file that a database keeps"),
    (("selftest", "to-shop", "--json", "sub/../shop.db-wal"), "a file that a database keeps"),
    (("selftest", "shop.db", "--json", "hard-wal"), "a file that a database keeps"),
    (("evaluate", "--train", "shop.db", "--test", "other.csv", "--json", "shop.db-wal"), "keeps"),
    (("anonymize", "shop.db", "--k", "2", "-o", "shop.db-journal"), "that a database keeps"),
    # what the next run would read as a part
    (("convert", "parts", "parts/all.csv"), "would be among the files of SOURCE parts"),
    (("convert", "parts/*.csv", "parts/all.csv"), "would be among the files of SOURCE"),
    (("convert", "parts/**/*.csv", "parts/all.csv"), "would be among the files of"),
    (("convert", "parts/[a-f]??.csv", "sub/../parts/all.csv"), "would be among the files of"),
    (("selftest", "parts/*", "--json", "parts/found.json"), "would be among the files of"),
    (("anonymize", "parts", "--k", "2", "-o", "parts/out"), "would be among the files of"),
    (("anonymize", "parts/*", "--k", "2", "-o", "parts/out"), "would be among the files of"),
    (("compare", "parts", "-o", "parts/out"), "would be among the files of"),
    # in a release, or what reveals who is who
    (("verify", "old", "--json", "old/x.json"), "would be inside the release"),
    ((*EVALUATE, "--test", "other.csv", "--json", "old/x.json"), "would be inside the release"),
    ((*AUDIT, "--release", "old", "--html", "old/x.html"), "would be inside the release"),
    ((*AUDIT, "--html", "old/x.html"), "is a release, to be published"),
    (("selftest", "ratings.csv", "--json", "old/x"), "is a release, to be published"),
    (("forget", "old", "--user", "1", "--json", "old.private/erasures.jsonl"), "a private file of"),
    ((*AUDIT, "--risk", "old.private/assignment.parquet"), "a private file of a release"),
    (("convert", "ratings.csv", "old.private/assignment.parquet", "--force"), "a private file of"),
    # nowhere
    ((*AUDIT, "--html", "no/x"), "cannot be written; expected a file in a folder"),
    (("selftest", "ratings.csv", "--json", "sub"), "cannot be written; expected a file in"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_what_would_destroy_something_is_refused_before_any_work(capsys, arguments, message):
    before = {path: path.lstat().st_mtime_ns for path in Path().rglob("*")}
    code, out, err = ended(capsys, *(each.format(here=Path.cwd()) for each in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert {path: path.lstat().st_mtime_ns for path in Path().rglob("*")} == before


ALLOWED = [
    (*AUDIT, "--html", "x.html", "--risk", "x.csv", "--json", "x.json"),
    (*AUDIT, "--html", "/dev/null", "--risk", "/dev/null"),
    (*AUDIT, "--release", "old", "--risk", "old.private/mine.csv"),
    (*AUDIT, "--html", "-", "--json", "sub/x.json"),
    (*ANONYMIZE, "-o", "x", "--json", "x.json"),
    (*ANONYMIZE, "-o", "x", "--method", "x"),
    ("verify", "old", "--json", "-"),
    ("compare", "ratings.csv", "-o", "sub", "--risk", "person", "--json", "pipe"),
    ("convert", "-", "-"),
    ("convert", "parts/part-*.csv", "parts/all.csv"),
    ("convert", "parts/*.csv", "parts/all.parquet"),
    ("selftest", "shop.db", "--json", "shop.json"),
    ("selftest", "parts/*.csv", "--json", "parts/found.json"),
    ("selftest", "linked", "--json", "parts/part-0.csv"),
]


@pytest.mark.parametrize("arguments", ALLOWED, ids=" ".join)
def test_what_destroys_nothing_is_not_refused(capsys, arguments):
    _, _, err = ended(capsys, *arguments)
    assert "the work began" in err


def test_every_path_of_every_verb_is_an_input_or_an_output_that_is_known():
    """A new output must be listed here."""
    inputs = {
        *(
            "source",
            "path",
            "release",
            "second_release",
            "earlier_release",
            "previous",
            "against",
            "auxiliary",
            "item_catalog",
            "model",
            "risk",  # of anonymize; that of audit is an output
        ),
        *("item_catalog", "train", "test", "private"),
        *("trust", "config", "card", "audit", "evaluation", "croissant", "ledger"),
        "folder",  # the project of a workbench, which looks at it itself
    }
    for command in make_app().registered_commands:
        verb = command.callback
        known = {"json", *FILES.get(verb.__name__, ()), *FOLDERS.get(verb.__name__, ())} | inputs
        parameters = inspect.signature(verb).parameters.values()
        paths = {each.name for each in parameters if "Path" in str(each.annotation)}
        assert paths or verb.__name__ == "precompile"
        assert paths <= known, verb.__name__
    assert {verb.name for verb in VERBS} >= {*FILES, *FOLDERS}


def test_a_link_that_leads_to_itself_is_no_fault_of_ours(capsys):
    Path("round").symlink_to("round")
    code, _, err = ended(capsys, *AUDIT, "--html", "round", "--json", "x.json")
    assert code == 2
    assert "fault" not in err


@pytest.mark.parametrize("arguments", [("selftest", "-"), ("convert", "-", "-"), ("audit", "-")])
def test_standard_input_from_a_file_is_an_input(capfd, arguments):
    """By device and inode, since it has no name."""
    held, given = os.dup(0), os.open("ratings.csv", os.O_RDONLY)
    os.dup2(given, 0)
    try:
        for output in ("ratings.csv", "hard.csv"):
            code, _, err = ended(capfd, *arguments, "--json", output)
            assert (code, "is the input itself" in err) == (2, True)
        _, _, err = ended(capfd, *arguments, "--json", "other.json")
        assert "the work began" in err
    finally:
        os.dup2(held, 0)
        os.close(held)
        os.close(given)
    assert Path("ratings.csv").read_text() == RATINGS


def test_the_root_of_all_folders_is_no_output(capsys):
    for arguments in (["anonymize", "ratings.csv", "-o", "/"], ["demo", "-o", "/"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        assert "has no name" in capsys.readouterr().err
