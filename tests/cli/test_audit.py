import html
import json
from dataclasses import replace

import pytest

from recveil.attacks import Interval
from recveil.auditing import audit
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.report.audit.terminal import show_audit
from shared.cli_audit import NEVER_LIKED, NEVER_RATED, likes, run  # noqa: F401 (fixtures)


def test_the_table_and_the_warnings(run):
    code, out, err = run("audit", "ratings.csv", "--targets", 40, "--no-curves")
    assert (code, err) == (0, "")
    for name in ("colleague", "public-profile", "paper", "insider", "a random guess"):
        assert name in out


def test_an_adversary_without_targets_has_no_rate(capsys, monkeypatch):
    """No user has as many ratings as most adversaries know: 0 % would look like safety."""
    monkeypatch.setenv("COLUMNS", "1000")
    ratings = make_ratings(n_users=30, n_items=20, n_ratings=90, seed=1)
    found = audit(ratings, targets=20, curves=False)
    able = {outcome.adversary.name for outcome in found.attacks if outcome.attacked}
    assert 0 < len(able) < len(found.attacks)
    show_audit(found)
    lines = capsys.readouterr().out.splitlines()
    for name in (outcome.adversary.name for outcome in found.attacks):
        (row,) = [line for line in lines if name in line.partition(" │")[0].strip().split(", ")]
        assert ("%" in row) == (name in able)
    page = found.to_html()
    assert page.count("no user could be attacked") == 1  # of equal figures there is one row
    assert all(outcome.adversary.description in html.unescape(page) for outcome in found.attacks)


def test_measures_of_the_papers_are_stated_where_they_find_more(capsys, monkeypatch):
    """The page has all of them; on the terminal none may be missing that alarms."""
    monkeypatch.setenv("COLUMNS", "1000")
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=1)
    found = audit(ratings, targets=40, curves=False)
    show_audit(found)
    rates = [(each.reidentified.rate, each.among_attacked.rate) for each in found.attacks]
    most = max(map(max, rates))
    shares = [graph.unique.rate for graph in found.graphs]
    assert shares
    is_more = max(shares) > most
    assert ("by the metrics of the papers" in capsys.readouterr().out) >= is_more
    rare = {name: Interval(0.01, 0.0, 0.02, 40) for name in found.attacks[0].by_attack}
    attacks = [replace(outcome, by_attack=rare) for outcome in found.attacks]
    show_audit(replace(found, attacks=attacks))
    # The first line states the highest of all.
    assert "metrics of the papers" not in capsys.readouterr().out
    show_audit(replace(found, attacks=attacks, graphs=[]))
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if "metrics of the papers" in line
    ]
    assert "a record of similarity 0.5" in line


def test_measures_of_the_papers_are_not_called_higher_than_a_stated_rate(capsys, tmp_path):
    """An audit of a release states the strongest figure before, which no measure exceeds."""
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=1)
    PredictiveAnonymizer(5, seed=1).anonymize(ratings).write(tmp_path / "out")
    found = audit(ratings, release=tmp_path / "out", targets=40, curves=False)
    rare = {name: Interval(0.01, 0.0, 0.02, 40) for name in found.attacks[0].by_attack}
    found = replace(found, attacks=[replace(each, by_attack=rare) for each in found.attacks])
    stated = found.risks_before.singling_out.strongest
    assert stated is not None
    assert all(graph.unique.rate <= stated.rate.rate for graph in found.graphs)
    show_audit(replace(found, deanonymized=[]))
    assert "metrics of the papers" not in capsys.readouterr().out


def test_json_keeps_its_contract(run):
    options = ("--known", 8, "--right", 6, "--date-error", 14, "--targets", "all", "--json", "-")
    code, out, err = run("audit", "ratings.csv", "--no-curves", *options)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert {"users", "items", "ratings", "density"} <= set(result["data"])
    (attack,) = result["attacks"]
    assert (attack["known"], attack["right"], attack["date_error"]) == (8, 6, 14)
    assert attack["targets_requested"] == 120


def test_a_preset_can_be_changed(run):
    options = ("--preset", "paper", "--known", 4, "--rating-error", "any", "--date-error", 3)
    _, out, _ = run("audit", "ratings.csv", "--no-curves", *options, "--json", "-")
    (attack,) = json.loads(out)["attacks"]
    assert (attack["name"], attack["known"], attack["right"]) == ("paper", 4, 4)
    assert (attack["rating_error"], attack["date_error"]) == (None, 3)
    stated = "--known 4, --rating-error any, --date-error 3"
    assert attack["description"] == f"Like “paper”, but for {stated}."


@pytest.mark.parametrize(
    "options",
    [
        ("--preset", "spy"),
        ("--targets", "some"),
        ("--targets", 0),
        ("--targets", "nan"),
        ("--targets", 1.5),
        ("--rating-error", "none"),
        ("--known", 0),
        ("--known", 3, "--right", 4),
        ("--auxiliary", "nowhere.csv"),
        ("--html", "no/page.html"),
        ("--no-curves", "--risk", "risk.csv"),
        ("--release", "nowhere"),
    ],
)
def test_wrong_usage_exits_with_2(run, options):
    code, out, err = run("audit", "ratings.csv", *options)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--html", "--risk", "--json"])
def test_inputs_and_releases_are_not_written_to(run, tmp_path, option):
    run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")
    before = (tmp_path / "ratings.csv").read_bytes()
    assert run("audit", "ratings.csv", "--targets", 9, option, "ratings.csv")[0] == 2
    assert (tmp_path / "ratings.csv").read_bytes() == before
    if option != "--json":
        assert run("audit", "ratings.csv", "--release", "out", option, "out/x")[0] == 2
        assert not (tmp_path / "out" / "x").exists()


def test_outside_knowledge(run, tmp_path):
    (tmp_path / "aux.csv").write_text("target,item,rating\nalice,1,5\nalice,2,3\nbob,3,1\n")
    code, out, _ = run("audit", "ratings.csv", "--no-curves", "--auxiliary", "aux.csv")
    assert code == 0
    assert "alice: " in out
    assert "bob: " in out


def test_selftest(run):
    code, out, _ = run("selftest", "ratings.csv")
    assert code == 0
    assert out.count("holds") == 4
    assert "ratings.csv: user:" in out
    code, out, _ = run("selftest", "ratings.csv", "--json", "-")
    assert json.loads(out)["holds"] is True
    assert json.loads(out)["data"]["users"] > 0


@pytest.mark.parametrize(
    "options",
    [
        ("--preset", "paper", "--known", 8, "--right", 6, "--rating-error", "any"),
        ("--preset", "film-buff", "--outside-top", 0),
        ("--known", 8, "--right", 6, "--rating-error", "any", "--date-error", 14),
        ("--known", 8, "--right", 6, "--rating-error", 0, "--date-error", 14),
    ],
)
def test_what_the_table_makes_impossible_falls_back(run, likes, options):
    code, out, err = run("audit", likes, "--no-curves", *options, "--json", "-")
    assert (code, err) == (0, "")
    (attack,) = json.loads(out)["attacks"]
    assert NEVER_LIKED in attack["description"]
    assert (attack["wrong_kind"], attack["known"], attack["right"]) == ("item", 8, 6)
    assert attack["targets_attacked"] > 0


@pytest.mark.parametrize("rating_error", ["any", 0])
def test_what_was_impossible_as_given_exits_with_2(run, likes, rating_error):
    options = ("--known", 8, "--right", 6, "--rating-error", rating_error)
    code, out, err = run("audit", likes, "--no-curves", *options)
    assert (code, out) == (2, "")
    assert "--wrong-kind item" in " ".join(err.split())


def test_likes_are_not_published(run, likes, tmp_path):
    places = ("--user", 1, "--item", 2)
    # Nor as likes by what publishes ratings, nor as ratings by what takes likes.
    for options, problem in (
        (
            ("--method", "predictive"),
            "these are likes, and this method publishes ratings, which likes have none of; take",
        ),
        (("--epsilon", 5), "likes (--likes): all ratings are equal"),
        (
            ("--method", "k-corating", "--scale", "1:5:1"),
            "all 2,400 ratings are 1: likes, not supported yet as ratings; padding",
        ),
    ):
        k = () if "--epsilon" in options else ("--k", 4)
        code, out, err = run("anonymize", likes, "-o", "out", *places, *k, *options)
        assert (code, out) == (2, "")
        assert f"error: {problem}" in err
        assert not (tmp_path / "out").exists()
    options = ("--methods", "padded,raw", "--k", 4, "--targets", 9)
    code, out, err = run("compare", likes, "-o", "out", *options)
    assert (code, out) == (2, "")
    assert (
        "error: method 'padded': not of likes; expected all, or some of 'k-corating-likes'" in err
    )
    code, out, err = run("compare", likes, "-o", "out", *options, "--scale", "1:5:1")
    assert "error: all 2,400 ratings are 1: likes, not supported yet as ratings; any pred" in err


def test_likes_say_nothing_of_a_release(run, likes):
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")[0] == 0
    options = ("--release", "out", "--split", 0.2, "--targets", 9, "--scale", "1:5:1")
    code, out, err = run("evaluate", likes, *options)
    assert (code, out) == (2, "")
    assert "ratings are 1: likes, not supported yet as ratings; any prediction of them is " in err
    code, out, err = run("evaluate", likes, *options[:-2])
    assert (code, out) == (2, "")
    assert "ratings are 1: likes, not supported yet as ratings; any prediction of them is " in err


def test_likes_against_a_release_of_an_earlier_version(run, likes, monkeypatch):
    # Formats before 5 called likes ratings of one value, which format 9 rules out.
    monkeypatch.setattr("recveil.release.settings.RENAMED_SINCE", 10)
    with monkeypatch.context() as earlier:
        earlier.setattr("recveil.methods.base.reject_likes", lambda *_: None)
        ratings = read_ratings(likes, user="1", item="2")
        assert PredictiveAnonymizer(4, seed=1).anonymize(ratings).write("out").holds
    code, out, err = run("audit", likes, "--release", "out", "--no-curves", "--json", "-")
    assert (code, err) == (0, "")
    attacks = json.loads(out)["release"]["attacks"]
    changed = [attack["name"] for attack in attacks if NEVER_LIKED in attack["description"]]
    assert changed == ["paper", "film-buff"]


def test_dates_are_no_help_against_a_release(run):
    # In the dated table known dates are wrong; the release has none, and no ratings are known.
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")[0] == 0
    options = ("--known", 4, "--right", 3, "--rating-error", "any", "--date-error", 14)
    options = (*options, "--release", "out", "--no-curves", "--targets", 40, "--json", "-")
    code, out, err = run("audit", "ratings.csv", *options)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert NEVER_RATED not in result["attacks"][0]["description"]
    (attack,) = result["release"]["attacks"]
    expected = f"{NEVER_RATED}: they know neither ratings nor dates."
    assert "Here no dates are known: releases have none." in attack["description"]
    assert expected in attack["description"]
    printed = run("audit", "ratings.csv", *options[:-2])[1].replace("\n", " ")
    assert "So 3 ratings of a target, not 4, must be known." in printed


def test_risk_without_curves_is_refused_before_the_work(run, tmp_path, monkeypatch):
    def audit(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("recveil.auditing.audit", audit)
    options = ("--no-curves", "--risk", "risk.csv", "--html", "page.html")
    code, out, err = run("audit", "ratings.csv", *options)
    assert (code, out) == (2, "")
    assert "--no-curves" in err
    assert not (tmp_path / "page.html").exists()


def test_the_result_never_replaces_what_the_adversary_knows(run, tmp_path):
    (tmp_path / "aux.csv").write_text("target,item,rating\na,1,3\n")
    code, out, err = run("audit", "ratings.csv", "--auxiliary", "aux.csv", "--json", "aux.csv")
    assert (code, out) == (2, "")
    assert "--json aux.csv is an input itself" in err
    assert (tmp_path / "aux.csv").read_text() == "target,item,rating\na,1,3\n"


def test_outside_knowledge_in_columns_of_ones_own(run, tmp_path):
    import gzip

    lines = (tmp_path / "ratings.csv").read_text().splitlines()
    (tmp_path / "own.csv").write_text("\n".join(["who,what,how,when", *lines[1:]]))
    rows = [line.split(",")[1:3] for line in lines[1:] if line.startswith("7,")]
    known = "\n".join(['"target","what","rating"', *(f"alice,{i},{v}" for i, v in rows)])
    (tmp_path / "aux.csv.gz").write_bytes(gzip.compress(known.encode()))
    names = ("--user", "who", "--item", "what", "--rating", "how", "--time", "when")
    options = ("--auxiliary", "aux.csv.gz", "--no-curves", "--targets", 9, "--json", "-")
    code, out, err = run("audit", "own.csv", *names, *options)
    assert (code, err) == (0, "")
    (alice,) = json.loads(out)["suspects"]
    assert (alice["target"], alice["users"][0]) == ("alice", "7")
    assert alice["known"] == alice["matched"] == len(rows)


def test_columns_are_called_as_on_the_page(run):
    _, out, _ = run("audit", "ratings.csv", "--targets", 9, "--no-curves")
    for name in ("re-identified", "wrong match", "control"):
        assert name in out
    assert "not in data" not in out


class TestTwoReleases:
    @pytest.fixture
    def released(self, run):
        for name, seed in (("march", 1), ("april", 2)):
            code, out, err = run(
                *("anonymize", "ratings.csv", "-o", name, "--k", 5, "--method=predictive"),
                *("--seed", seed, "--json", "-"),
            )
            assert code == 0
        return json.loads(out), err

    def test_who_anonymizes_again_is_warned(self, released):
        result, err = released
        assert "warning: 120 of these users are also in an earlier release, 'march'" in err
        (earlier,) = result["earlier"]
        assert earlier["users"] == 120
        assert earlier["release"].endswith("march")

    def test_another_release_needs_one(self, run):
        code, _, err = run("audit", "ratings.csv", "--second-release", "march")
        assert code == 2
        assert "no release to link it with" in err


def test_decision_options_apply_to_every_adversary(run):
    decision = ("--eccentricity", "auto", "--day-width", "14", "--no-curves", "--targets", "60")
    chosen = ("--preset", "colleague", "--preset", "paper")
    code, out, _ = run("audit", "ratings.csv", *decision, *chosen, "--json", "-")
    attacks = json.loads(out)["attacks"]
    assert (code, len(attacks)) == (0, 2)
    assert {attack["day_width"] for attack in attacks} == {14}
    assert all(
        attack["calibration"]["chosen"]["eccentricity"] == attack["eccentricity"]
        for attack in attacks
    )


def test_auto_with_few_targets_names_the_adversary(run):
    few = ("--eccentricity", "auto", "--targets", "38", "--no-curves")
    code, _, err = run("audit", "ratings.csv", *few)
    assert (code, "--targets" in err, "adversary" in err) == (2, True, True)
    code, _, err = run("audit", "ratings.csv", "--tune", "--rating-width", "2", "--no-curves")
    assert (code, "--tune" in err, "--rating-width" in err) == (2, True, True)


def test_the_plain_scoreboard_by_name(run, tmp_path):
    plain = ("--preset", "colleague", "--algorithm", "scoreboard", "--threshold", "0.5")
    html = ("--html", tmp_path / "page.html", "--no-curves", "--targets", "30")
    code, out, _ = run("audit", "ratings.csv", *plain, *html)
    assert (code, "plain Scoreboard, threshold 0.5" in out) == (0, True)
    page = (tmp_path / "page.html").read_text()
    assert ("similarity ≥&nbsp;0.5" in page, "the plain Scoreboard of" in page) == (True, True)
    code, out, _ = run("audit", "ratings.csv", *plain, "--no-curves", "--explain")
    assert (code, "\nsimilarity ≥ 0.5: " in out) == (0, True)
    code, _, err = run("audit", "ratings.csv", "--eccentricity", "high", "--no-curves")
    assert (code, "--eccentricity" in err) == (2, True)


@pytest.mark.parametrize(
    ("verb", "option", "other"),
    [("audit", "--model", "audit-lists"), ("audit-lists", "--release", "recveil audit;")],
)
def test_an_option_of_the_other_audit_names_it(capsys, verb, option, other):
    with pytest.raises(SystemExit) as stop:
        main([verb, "ratings.csv", option, "x"])
    assert stop.value.code == 2
    assert other in capsys.readouterr().err
