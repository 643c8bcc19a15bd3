"""Options from a file: what it may hold, what wins, and that it is said."""

import json
import os
import tomllib

import pytest

from error_assertions import raises
from recveil.cli.entry import VERBS, Verb, known_options
from recveil.cli.settings_file import read_settings, settings_text
from shared.cli_config import (
    put,
    run,  # noqa: F401 (fixtures)
)

KNOWN = known_options()

NO_USER = 65534

# Files are given to another user, which the administrator alone can do.
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


class TestTaken:
    def test_what_is_not_typed_comes_from_the_file_and_is_said(self, run, tmp_path):
        put(tmp_path, '[anonymize]\nk = 4\noutput = "out"\nmethod = "predictive"\n')
        code, out, err = run("anonymize", "ratings.csv", "--config", "recveil.toml")
        assert code == 0
        result = 'recveil.toml sets output = "out", k = 4, method = "predictive"; typed options '
        result += "take precedence."
        assert sorted(err.splitlines()[0].split()) == sorted(result.split())
        assert "shared by at least 4 users" in out
        assert json.loads((tmp_path / "out/release.json").read_text())["k"] == 4

    @pytest.mark.parametrize("said", [("--counts", "log"), ("--scale", "1:9:1")])
    def test_what_is_typed_wins_over_what_excludes_it(self, run, tmp_path, said):
        (tmp_path / "plays.csv").write_text("user,item,plays\nann,7,4\nben,7,9\n")
        put(tmp_path, '[inspect]\nlikes = true\nrating = "plays"\n')
        code, out, err = run("inspect", "plays.csv", *said, "--config", "recveil.toml")
        assert (code, err) == (
            0,
            'recveil.toml sets rating = "plays"; typed options take precedence.\n',
        )
        assert "Read 2 ratings" in out

    def test_even_a_default_typed_wins(self, run, tmp_path):
        put(tmp_path, "[convert]\ntimes = false\n")
        run("convert", "ratings.csv", "with.csv", "--times")
        run("convert", "ratings.csv", "without.csv")
        assert "timestamp" in (tmp_path / "with.csv").read_text()
        assert "timestamp" not in (tmp_path / "without.csv").read_text()

    def test_nothing_is_said_where_nothing_is_taken(self, run, tmp_path):
        put(tmp_path, "[audit]\ntargets = 10\n")
        assert run("inspect", "ratings.csv")[2] == ""

    def test_a_file_elsewhere_is_named(self, run, tmp_path):
        put(tmp_path, "[inspect]\nrows = 2\n")
        put(tmp_path, "[inspect]\nrows = 1\n", "other.toml")
        assert "rows = 2" in run("inspect", "ratings.csv")[2]
        code, _, err = run("inspect", "ratings.csv", "--config", "other.toml")
        assert (code, err) == (0, "other.toml sets rows = 1; typed options take precedence.\n")
        assert run("inspect", "ratings.csv", "--config", "/dev/null")[2] == ""

    def test_json_stays_alone_on_standard_output(self, run, tmp_path):
        put(tmp_path, '[inspect]\njson = "-"\n')
        code, out, err = run("inspect", "ratings.csv", "--config", "recveil.toml")
        assert (code, json.loads(out)["input"]) == (0, "ratings.csv")
        assert "json" in err

    def test_lists_and_numbers_where_text_is_typed(self, run, tmp_path):
        put(tmp_path, '[audit]\npreset = ["paper", "insider"]\ntargets = 10\nuser = 1\n')
        code, out, err = run(
            *("audit", "ratings.csv", "--no-curves", "--json", "-", "--config", "recveil.toml")
        )
        assert code == 0
        assert [each["name"] for each in json.loads(out)["attacks"]] == [
            *("paper", "insider"),
        ]
        assert 'preset = ["paper", "insider"]' in err

    def test_a_promise_from_the_file_is_said_before_it_is_refused(self, run, tmp_path):
        put(tmp_path, "[anonymize]\nepsilon = 3\n")
        code, out, err = run(
            *("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--config", "recveil.toml")
        )
        assert (code, out) == (2, "")
        assert err.startswith('recveil.toml sets epsilon = "3"')
        assert "k (--k) and epsilon" in err

    def test_outputs_from_the_file_are_checked_as_typed_ones(self, run, tmp_path):
        put(tmp_path, '[inspect]\njson = "ratings.csv"\n')
        before = (tmp_path / "ratings.csv").read_bytes()
        assert run("inspect", "ratings.csv", "--config", "recveil.toml")[0] == 2
        assert (tmp_path / "ratings.csv").read_bytes() == before

    def test_the_file_is_an_input_that_no_output_replaces(self, run, tmp_path):
        put(tmp_path, "[inspect]\nrows = 1\n")
        for options in ((), ("--config", "./recveil.toml")):
            code, _, err = run("inspect", "ratings.csv", "--json", "recveil.toml", *options)
            assert code == 2
            assert "--json recveil.toml is an input itself" in " ".join(
                err.replace("│", "").split()
            )
        assert "rows = 1" in (tmp_path / "recveil.toml").read_text()

    def test_control_characters_do_not_reach_the_terminal(self, run, tmp_path):
        put(tmp_path, '[inspect]\nscale = "\\u001b[2J"\n')
        code, _, err = run("inspect", "ratings.csv")
        assert code == 2
        assert "\x1b" not in err


REFUSED = {
    "a verb": ("[anonymise]\n", "[anonymise] is no verb of recveil; the nearest is [anonymize]"),
    "an option": (
        "[anonymize]\nlayuot = 'users'\n",
        "'layuot' is not an option of it; the nearest is layout",
    ),
    "text for a number": ("[anonymize]\nk = '5'\n", "k is '5'; expected a whole number"),
    "truth for a number": ("[anonymize]\nk = true\n", "k is True; expected a whole number"),
    "a part of a number": ("[anonymize]\nk = 5.5\n", "k is 5.5; expected a whole number"),
    "a number for truth": ("[anonymize]\nforce = 1\n", "force is 1; expected true or false"),
    "a list": ("[anonymize]\nlayout = ['users']\n", "expected one of auto, users, groups, model"),
    "no list": ("[audit]\npreset = 'paper'\n", "expected a list"),
    "a list of numbers": ("[audit]\npreset = [1, true]\n", "expected a list"),
    "a table": ("[anonymize.k]\nx = 1\n", "k is {'x': 1}; expected a whole number"),
    "no choice": ("[anonymize]\nlayout = 'user'\n", "expected one of auto, users, groups, model"),
    "too little": ("[sample]\nn-users = 0\n", "expected a whole number of at least 1"),
    "too much": ("[inspect]\nrows = 21\n", "at least 0 and at most 20"),
    "no verb above": ("k = 5\n", "'k' is above all verbs"),
    "no TOML": ("[anonymize\n", "invalid TOML"),
    "twice": ("[anonymize]\nk = 5\nk = 6\n", "invalid TOML"),
    "twice in two ways": (
        "[anonymize]\nhide-items = true\nhide_items = false\n",
        "'hide_items' is given twice",
    ),
    "a date": ("[anonymize]\nscale = 2020-01-01\n", "expected a text"),
    "a seed": ("[anonymize]\nseed = 7\n", "a secret of the publisher"),
    "a password": ("[convert]\ntarget-format = 'x://ann:geheim@host/db'\n", "contains a password"),
    "itself": ("[inspect]\nconfig = 'other.toml'\n", "'config' is not an option of it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_file_may_hold_is_refused_by_name(run, tmp_path, name):
    text, problem = REFUSED[name]
    put(tmp_path, text)
    before = sorted(tmp_path.iterdir())
    code, out, err = run("inspect", "ratings.csv", "--json", "found.json")
    assert (code, out) == (2, "")
    assert err.startswith("error: recveil.toml: ")
    assert problem in err
    assert len(err) < 320
    assert "geheim" not in err
    assert sorted(tmp_path.iterdir()) == before


def test_bytes_that_are_no_text_and_files_that_are_too_large(run, tmp_path):
    (tmp_path / "recveil.toml").write_bytes(b"[inspect]\n# \xff\n")
    assert "expected UTF-8 text" in run("inspect", "ratings.csv")[2]
    (tmp_path / "recveil.toml").write_bytes(b"#" * (1 << 21))
    assert "at most 65,536 bytes" in run("inspect", "ratings.csv")[2]
    assert "no such file" in run("inspect", "ratings.csv", "--config", "no.toml")[2]


def test_help_is_shown_whatever_the_file_holds(run, tmp_path):
    put(tmp_path, "nonsense")
    code, out, _ = run("inspect", "--help")
    assert code == 0
    assert "--config" in out


class TestWritten:
    def test_config_writes_a_file_that_changes_nothing(self, run, tmp_path):
        code, out, _ = run("config")
        assert code == 0
        assert "Wrote recveil.toml" in out
        content = tomllib.loads((tmp_path / "recveil.toml").read_text())
        assert content == {verb: {} for verb in KNOWN}
        assert run("inspect", "ratings.csv")[2] == ""

    def test_it_replaces_nothing_without_force(self, run, tmp_path):
        put(tmp_path, "[inspect]\nrows = 1\n")
        code, _, err = run("config")
        assert code == 2
        assert "--force" in err
        assert "rows = 1" in (tmp_path / "recveil.toml").read_text()
        assert run("config", "--force")[0] == 0
        assert run("config", "elsewhere.toml")[0] == 0
        assert run("config", "no/recveil.toml")[0] == 2

    def test_standard_output(self, run, tmp_path):
        code, out, err = run("config", "-")
        assert (code, err, out) == (0, "", settings_text(KNOWN))
        assert not (tmp_path / "recveil.toml").exists()

    def test_every_option_of_every_verb_is_stated_with_its_help(self):
        text = settings_text(KNOWN)
        for verb, options in KNOWN.items():
            for option in options:
                result, alike = of_option(text, verb, option.name)
                assert bool(result or alike) is not option.is_secret, (verb, option.name)
                for each in filter(None, [result, alike]):
                    assert option.help in each
                    assert (" With --config alone." in each) is not option.counts_unnamed
        assert all(len(line) <= 80 for line in text.splitlines())

    def test_what_verbs_take_alike_is_stated_once(self):
        lines = settings_text(KNOWN).splitlines()
        assert sum(line.startswith("# query = ") for line in lines) == 1
        assert len(lines) < 990

    def test_defaults_in_force_are_taken_and_are_the_defaults(self, tmp_path):
        """Taking away the # before each line that has a value gives what holds anyway."""
        lines = settings_text(KNOWN).splitlines()
        values = [
            line[2:] if " = " in line and " = ..." not in line and _is_toml(line[2:]) else line
            for line in lines
        ]
        put(tmp_path, "\n".join(values))
        found = read_settings(tmp_path / "recveil.toml", KNOWN)
        verbs = {verb.name: verb.options for verb in VERBS}
        assert sum(map(len, found.values())) >= 40
        for verb, options in found.items():
            parameters = verbs[verb].parameters
            for name, value in options.items():
                assert value == parameters[name].default or str(parameters[name].default) == value


def of_option(text, verb, name):
    """Return what the section of a verb says of an option, and what the one it points at does."""
    section = text.partition(f"[{verb}]\n")[2].partition("\n\n[")[0]
    parts = [part for part in section.split("\n\n") if part]
    (own,) = [part for part in parts if f"\n# {name} = " in part] or [""]
    alike = ""
    for part in (" ".join(each.replace("\n# ", " ").split()) for each in parts):
        other, _, names = part.removeprefix("# As in [").removesuffix(".").partition("]: ")
        if part.startswith("# As in [") and name in names.split(", "):
            alike = of_option(text, other, name)[0]
    return own.replace("\n# ", " "), alike


def _is_toml(line):
    try:
        tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return False
    return True


def test_names_of_options_are_those_of_the_command_line():
    import typer

    from recveil.cli import app

    commands = typer.main.get_command(app).commands
    for verb, options in KNOWN.items():
        typed = {name for each in commands[verb].params for name in each.opts if name[:2] == "--"}
        assert {f"--{option.name}" for option in options} == typed - {"--config", "--help"}, verb


def test_a_verb_that_is_called_from_python_reads_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "nonsense")
    names = []

    def greet(name: str) -> None:
        names.append(name)

    Verb(greet).command(dict)(name="Ann")
    assert names == ["Ann"]


def test_the_library_says_what_is_wrong(tmp_path):
    put(tmp_path, "[inspect]\nrow = 3\n")
    with raises("option.unknown") as caught:
        read_settings(tmp_path / "recveil.toml", KNOWN)
    assert "rows" in str(caught.value)


class TestWhoseItIs:
    @as_root
    @pytest.mark.parametrize("kind", ["file", "link"])
    def test_one_of_another_user_is_not_taken_unasked(self, run, tmp_path, kind):
        (tmp_path / "notes.txt").write_text("my only notes")
        put(tmp_path, '[inspect]\njson = "notes.txt"\n', "there.toml")
        settings = tmp_path / "recveil.toml"
        settings.symlink_to("there.toml") if kind == "link" else os.link("there.toml", settings)
        os.lchown(settings, NO_USER, -1)
        code, out, err = run("inspect", "ratings.csv")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "belongs to the user nobody" in err
        assert "--config recveil.toml" in err
        assert (tmp_path / "notes.txt").read_text() == "my only notes"
        assert run("inspect", "ratings.csv", "--config", "recveil.toml")[0] == 0

    def test_nor_one_that_others_can_write(self, run, tmp_path):
        put(tmp_path, "[inspect]\nrows = 2\n")
        for mode, is_taken in ((0o602, False), (0o644, True), (0o600, True)):
            (tmp_path / "recveil.toml").chmod(mode)
            code, _, err = run("inspect", "ratings.csv")
            assert (code, "rows = 2" in err) == ((0, True) if is_taken else (2, False))
            assert is_taken or "others can write to it" in err

    @as_root
    def test_a_group_of_the_owners_own_is_no_other(self, run, tmp_path):
        put(tmp_path, "[inspect]\nrows = 2\n")
        (tmp_path / "recveil.toml").chmod(0o660)
        os.chown(tmp_path / "recveil.toml", -1, os.geteuid())
        assert run("inspect", "ratings.csv")[0] == 0
        os.chown(tmp_path / "recveil.toml", -1, NO_USER)
        assert "others can write to it" in run("inspect", "ratings.csv")[2]


class TestHostile:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (".".join(["a"] * 20_000) + " = 1\n", "a line with more than 100 dots"),
            ("[" + ".".join(["a"] * 20_000) + "]\n", "a line with more than 100 dots"),
            ("#" * 70_000, "at most 65,536 bytes"),
        ],
    )
    def test_what_would_take_all_memory_is_refused(self, run, tmp_path, text, message):
        put(tmp_path, text)
        code, _, err = run("inspect", "ratings.csv")
        assert (code, message in err, err.count("\n")) == (2, True, 1)

    def test_a_folder_is_named_also_if_it_has_no_name(self, run):
        code, _, err = run("inspect", "ratings.csv", "--config", ".")
        assert (code, err.startswith("error: .: a folder, where a file was expected")) == (2, True)

    def test_a_pipe_is_not_waited_for(self, run, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        code, _, err = run("inspect", "ratings.csv", "--config", "pipe")
        assert (code, "got a pipe or a device" in err) == (2, True)


def test_only_a_file_of_options_is_replaced_by_one(run, tmp_path):
    before = (tmp_path / "ratings.csv").read_bytes()
    put(tmp_path, 'title = "of another program"\n', "other.toml")
    for name in ("ratings.csv", "other.toml"):
        code, _, err = run("config", name, "--force")
        assert (code, "is not a settings file" in err) == (2, True)
    assert (tmp_path / "ratings.csv").read_bytes() == before
    put(tmp_path, "[inspect]\nrows = 2\n", "mine.toml")
    assert run("config", "mine.toml", "--force")[0] == 0


# A file that was found, and was not named, gives none of these. With those that `counts_unnamed`
# allows they are all that there are: a new option must be given a place here or there.
NAMED_ALONE = {
    "demo": "output k epsilon seed force json",
    "inspect": "json duplicates drop-off-scale drop-missing-ids query max-memory",
    "audit": "release second-release html auxiliary item-catalog shadows risk targets draws seed "
    "explain json "
    "preset known right wrong-kind rating-error date-error outside-top activity-error duplicates "
    "algorithm eccentricity rating-width day-width threshold tune first-date-error sensitive "
    "users attribute "
    "item-titles auxiliary-titles match-certainty matches-output item-matches "
    "drop-off-scale drop-missing-ids query max-memory engine master",
    "audit-lists": "lists nonmembers recommender model similar-before similar-after since known "
    "length shadows html risk seed json duplicates drop-off-scale drop-missing-ids query "
    "max-memory",
    "anonymize": "output previous protect-riskiest risk truncate-to item-table "
    "users attribute sensitive-attribute attribute-l "
    "k method homogenize grouping distance centers assignment "
    "predictor dates "
    "round values padding privacy-levels b l fill trust round-fills protect cluster-size epsilon "
    "delta n-users item-catalog max-ratings item-features ratings date-range cohort "
    "releases reuse publish-answers workloads "
    "direct-weights "
    "trust-steps "
    "diversity closeness "
    "neighbours layout seed hide-items force allow-large allow-sparse-coverage earlier-release "
    "dry-run ledger explain json duplicates drop-off-scale drop-missing-ids query max-memory "
    "engine master",
    "sample": "output n-users seed force json max-memory",
    "budget": "ledger delta json duplicates drop-off-scale drop-missing-ids query max-memory",
    "verify": "k b l claim user item rating time format delimiter wide null private croissant "
    "against ratings "
    "duplicates explain json max-memory engine master",
    "forget": "user private ratings output log ledger force json user-column duplicates "
    "drop-off-scale drop-missing-ids query max-memory",
    "describe": "card audit evaluation column-names force json max-memory",
    "report": "ratings audit users name role date force json duplicates drop-off-scale "
    "drop-missing-ids query max-memory",
    "evaluate": "release train test split split-by null-rule targets membership liked seed all "
    "users attribute explain json duplicates drop-off-scale drop-missing-ids query max-memory",
    "compare": "output methods k split targets seed max-risk min-k utility risk shadows "
    "allow-large liked users attribute explain "
    "json duplicates drop-off-scale drop-missing-ids query max-memory",
    "selftest": "seed json duplicates drop-off-scale drop-missing-ids query max-memory",
    "convert": "item-table split split-by seed force json duplicates drop-off-scale "
    "drop-missing-ids query max-memory",
    "generate": "users items ratings seed scale format force json",
    "precompile": "",
    "workbench": "port open-browser",
}
# Which table is read, which column is what, and which ratings count: this decides who is
# hidden.
OF_A_TABLE = [
    *("format", "user", "item", "rating", "time", "delimiter", "wide", "null", "table", "sheet"),
    *("likes", "counts", "words"),
]

OF_WRITING = ["scale", "time-format", "decimal", "order"]

HARMLESS = {
    "inspect": ["rows"],
    "audit": ["curves"],
    "verify": ["links"],
    "anonymize": ["file-format"],
    "sample": ["file-format"],
    "convert": ["target-format", "times"],
}

NO_TABLE = {"demo", "precompile", "sample", "verify", "describe", "generate", "workbench"}


class TestFound:
    """A file in the folder that was not named: an archive may have brought it."""

    @pytest.mark.parametrize("verb", KNOWN)
    def test_every_option_has_its_place(self, verb):
        counts = {each.name for each in KNOWN[verb] if each.counts_unnamed}
        has_table = verb not in NO_TABLE
        assert counts == {*HARMLESS.get(verb, []), *(OF_WRITING if has_table else [])}
        alone = {*NAMED_ALONE[verb].split(), *(OF_A_TABLE if has_table else [])}
        assert {each.name for each in KNOWN[verb]} - counts == alone

    @pytest.mark.parametrize(
        ("verb", "line"),
        [
            ("audit", 'risk = "home.rc"'),
            ("audit", 'html = "home.rc"'),
            ("inspect", 'json = "home.rc"'),
            ("verify", 'json = "home.rc"'),
            ("inspect", 'query = "SELECT 1"'),
            ("selftest", 'duplicates = "last"'),
        ],
    )
    def test_it_replaces_nothing_and_reads_nothing_else(self, run, tmp_path, verb, line):
        (tmp_path / "home.rc").write_text("my only one")
        put(tmp_path, f"[{verb}]\n{line}\n")
        code, out, err = run(verb, "ratings.csv")
        assert (code, out, err.count("\n")) == (2, "", 1)
        name = line.partition(" ")[0]
        assert err.startswith(
            f"error: recveil.toml, found in this folder: [{verb}] '{name}' counts"
        )
        assert "--config recveil.toml" in err
        assert len(err) < 300
        assert (tmp_path / "home.rc").read_text() == "my only one"

    def test_it_turns_no_verdict(self, run, tmp_path):
        put(tmp_path, '[verify]\nk = 1\nclaim = "co-rated"\n')
        code, out, err = run("verify", "ratings.csv")
        assert (code, out) == (2, "")
        assert "[verify] 'k', 'claim' count only in a file that you name" in err
        assert run("verify", "ratings.csv", "--config", "recveil.toml")[0] == 0
        assert run("verify", "ratings.csv", "--config", "/dev/null", "--k", 2)[0] == 1

    def test_it_says_how_values_are_written(self, run, tmp_path):
        put(tmp_path, '[inspect]\nscale = "1:5:0.5"\nrows = 1\n')
        code, _, err = run("inspect", "ratings.csv")
        assert (code, 'scale = "1:5:0.5"' in err) == (0, True)

    @pytest.mark.parametrize(
        "lines",
        [
            'user = "item"\nitem = "user"',
            "user = 2\nitem = 1",
            'format = "movielens-tab"',
            'delimiter = ";"',
            "wide = true",
            'rating = "mail"\nwords = "all"',
            'time = "user"',
            "likes = true",
        ],
    )
    def test_it_publishes_no_user_in_place_of_items(self, run, tmp_path, lines):
        put(tmp_path, f'[anonymize]\nscale = "1:5:1"\n{lines}\n')
        code, out, err = run("anonymize", "ratings.csv", "-o", "out", "--k", 3)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "only in a file that you name" in err
        assert "--config recveil.toml" in err
        assert not (tmp_path / "out").exists()

    def test_what_is_typed_next_to_it_wins_over_nothing(self, run, tmp_path):
        """Typing the other column would leave the found one in force."""
        put(tmp_path, '[anonymize]\nitem = "user"\n')
        code, _, err = run("anonymize", "ratings.csv", "-o", "out", "--k", 3, "--user", "item")
        assert (code, "[anonymize] 'item' counts only" in err) == (2, True)

    def test_what_it_may_not_give_is_not_passed_over_where_it_is_typed(self, run, tmp_path):
        put(tmp_path, "[anonymize]\nk = 2\n")
        assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4)[0] == 2
        assert not (tmp_path / "out").exists()
