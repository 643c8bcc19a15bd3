"""Options that are declared once reach every verb that takes them."""

import importlib
import inspect
import warnings
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

import recveil
from recveil.auditing.request import AuditRequest, MatchOptions
from recveil.cli import main
from recveil.cli.entry import VERBS, Verb, known_options
from recveil.cli.options import READING, RENAMED, OptionGroup, rename_options
from recveil.cli.settings_file import read_settings
from recveil.comparison._compare import CompareRequest
from recveil.datasets import make_ratings
from recveil.evaluation._evaluate import EvaluateRequest
from recveil.io import write_ratings
from recveil.io.options import ReadingOptions
from recveil.methods import ErasureRequest, anonymize
from recveil.methods._anonymize import AnonymizeOptions, MethodOptions
from recveil.release.registry import all_methods

Loud = Annotated[bool, typer.Option("--loud", help="Louder.")]
Times = Annotated[int, typer.Option(help="How often.")]

LOUD = OptionGroup(lambda: {"loud": (Loud, False)}, lambda given: {"end": "!" * given["loud"]})
TIMES = OptionGroup(lambda: {"times": (Times, 2)}, lambda given: {"words": ["ho"] * given["times"]})


def shout(name: Annotated[str, typer.Argument(help="Whom.")], **more) -> None:
    """Shout."""
    print(name, *more["words"], more["end"])


SHOUT = Verb(shout, (LOUD, TIMES), reads_tables=False)


def typed(*arguments):
    app = typer.Typer()
    app.command()(SHOUT.command(lambda: {"shout": []}))
    return CliRunner().invoke(app, arguments)


@pytest.fixture(autouse=True)
def _in_a_folder_without_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_verb_gets_what_its_options_mean():
    assert typed("Ann").output == "Ann ho ho \n"
    assert typed("Ann", "--times", "1", "--loud").output == "Ann ho !\n"


def test_options_follow_the_verbs_own_in_order_and_help_is_kept():
    assert list(SHOUT.options.parameters) == ["name", "loud", "times"]
    help = typed("--help").output
    assert "Louder." in help
    assert "Shout." in help


def test_an_option_is_not_declared_twice():
    with pytest.raises(ValueError, match="declared twice: loud"):
        _ = Verb(shout, (LOUD, LOUD)).options


def test_options_of_reading_are_those_of_the_library():
    declared = READING.declared()
    assert {*ReadingOptions.__annotations__} == {*declared}
    for name, (_, default) in declared.items():
        is_flag = ReadingOptions.__annotations__[name] is bool
        assert default == ("error" if name == "duplicates" else False if is_flag else None)


def test_keywords_of_anonymize_are_those_of_the_request_and_all_methods():
    methods = importlib.import_module("recveil.methods")
    own = inspect.signature(methods.anonymize).parameters
    keywords = AnonymizeOptions.__required_keys__ | AnonymizeOptions.__optional_keys__
    named = {name for name, each in own.items() if each.kind is each.KEYWORD_ONLY}
    of_methods = {option.name for method in all_methods() for option in method.options}
    assert {*MethodOptions.__annotations__} == of_methods
    assert keywords == (named - {"on_estimate", "on_total"}) | of_methods | {
        *ReadingOptions.__annotations__
    }
    fields = inspect.signature(methods.AnonymizeRequest).parameters
    for name in named - {"on_estimate", "on_total"}:
        assert own[name].default == fields[name].default


@pytest.mark.parametrize(
    ("verb", "request_class", "renamed"),
    [
        (recveil.audit, AuditRequest, {*MatchOptions._fields, "match_by"}),
        (recveil.evaluate, EvaluateRequest, set()),
        (recveil.compare, CompareRequest, {"k", "ks", "output"}),
        (recveil.forget, ErasureRequest, set()),
    ],
)
def test_a_request_has_the_keywords_of_its_verb_and_their_defaults(verb, request_class, renamed):
    own, fields = inspect.signature(verb).parameters, inspect.signature(request_class).parameters
    callbacks = {name for name in own if name.startswith("on_")}
    assert own.keys() - callbacks - renamed == fields.keys() - renamed
    for name in own.keys() & fields.keys() - {"source", "adversaries", "reading"}:
        assert own[name].default == fields[name].default, name


def test_each_verb_that_reads_has_all_options_of_reading_and_no_other_has_some():
    of_reading = {*READING.declared()}
    for verb in VERBS:
        expected = {
            "verify": {
                *("user", "item", "rating", "time"),
                *("format", "delimiter", "wide", "null", "duplicates"),
            },
            "generate": {"scale", "format"},  # of what it writes
            "demo": set(),
            "config": set(),
            "precompile": set(),
            "workbench": set(),
            "describe": set(),  # a release has one form
            "sample": set(),
        }.get(verb.name, of_reading)
        assert of_reading & {*verb.options.parameters} == expected, verb.name


@pytest.mark.parametrize("second", [["--methods", "raw"], ["--methods=raw"]])
def test_an_option_of_a_list_is_given_once(tmp_path, capsys, second):
    with pytest.raises(SystemExit, match="2"):
        main(["compare", "none.csv", "--methods", "sparse", *second, "--output", str(tmp_path)])
    assert "--methods is given 2 times" in capsys.readouterr().err


def test_an_old_name_of_an_option_is_the_new_one_and_is_reported(tmp_path, capsys):
    write_ratings(make_ratings(n_users=20, n_items=10, n_ratings=100, seed=1), tmp_path / "r.csv")
    run = ["anonymize", "r.csv", "-o", "out", "--k", "3", "--method", "sparse", "--dry-run"]
    for arguments in (["--against", "gone"], ["--against=gone"]):
        with pytest.raises(SystemExit) as stop:
            main([*run, *arguments])
        result = capsys.readouterr().err
        assert stop.value.code == 2
        assert "--against is now --earlier-release" in result
        assert "earlier_release (--earlier-release) is 'gone'" in result


def test_an_old_name_in_a_settings_file_is_the_new_one_and_is_reported(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text("[sample]\npeople = 7\n")
    found = read_settings(tmp_path / "mine.toml", known_options())
    assert found == {"sample": {"n_users": 7}}
    assert "people is now n-users" in capsys.readouterr().err


def test_old_names_are_of_no_option_and_new_ones_are():
    known = {verb: {option.name for option in options} for verb, options in known_options().items()}
    for verb, names in RENAMED.items():
        assert set(names.values()) <= known[verb]
        assert not set(names) & known[verb]


def test_an_old_name_of_a_value_is_the_new_one_and_is_reported(tmp_path, capsys):
    assert rename_options(["compare", "--risk", "person"]) == [
        *("compare", "--risk", "reidentification")
    ]
    assert rename_options(["compare", "--risk=group"]) == ["compare", "--risk=class"]
    assert rename_options(["audit", "--risk", "person"]) == ["audit", "--risk", "person"]
    assert rename_options(["anonymize", "--labels", "model", "--method=words"]) == [
        *("anonymize", "--values", "predicted", "--method=nominal")
    ]
    assert rename_options(["compare", "--methods", "words,raw,words-shares"]) == [
        *("compare", "--methods", "nominal,raw,nominal-shares")
    ]
    (tmp_path / "mine.toml").write_text(
        '[compare]\nrisk = "group"\n[anonymize]\nmethod = "words"\nvalues = "model"\n'
    )
    found = read_settings(tmp_path / "mine.toml", known_options())
    assert found == {
        "compare": {"risk": "class"},
        "anonymize": {"method": "nominal", "values": "predicted"},
    }
    result = capsys.readouterr().err
    assert [result.count(f"is now {new}\n") for new in ("class", "predicted", "nominal")] == [
        2,
        2,
        3,
    ]
    assert "--methods words-shares is now nominal-shares" in result


def test_a_note_on_a_table_is_a_line(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("user,item,rating,shop\na,x,5,1\na,x,4,1\nb,x,3,1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        folder = str(tmp_path / "out")
        anonymize(
            make_ratings(40, 20, 400, seed=2),
            folder,
            k=5,
            seed=1,
            method="predictive",
            diversity=2,
            homogenize="simple",
        )
        table = ["--private", f"{folder}.private", "--ratings", str(tmp_path / "t.csv")]
        with pytest.raises(SystemExit):
            main(["verify", folder, *table, "--duplicates", "last"])
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("note: 1 row was dropped")]
    assert "note: Not read: 'shop'." in lines
    assert not [line for line in lines if "Warning" in line]
