"""The page stands alone, hides nothing that it was given, and trusts no label."""

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from error_assertions import raises
from recveil.attacks import Adversary, Interval
from recveil.charts import COLOURS, DASHES, SHAPES, draw_curves, draw_looks
from recveil.report.audit import page as audit_page
from recveil.report.audit.terminal import show_audit, show_rates
from recveil.report.audit.text import rates_of
from recveil.report.glossary import MEANINGS
from recveil.runtime.number_format import estimate, percent
from shared.report_audit_page import ATTACK, _text, audited, page, result  # noqa: F401 (fixtures)

RISKS = ("singling_out", "linkability", "inference")
SECTIONS = ("release", "before", "adversaries", "curves", "sufficient", "risk", "checks", "notes")


def _words(page):
    """The text of the page; a bold word does not end with a blank."""
    return _text(re.sub(r"</?strong>", "", page))


def test_all_sections_are_there(page):
    for section in SECTIONS:
        assert f'<section id="{section}">' in page
    places = [page.index(f'<section id="{section}">') for section in SECTIONS]
    # The headline and the table come before the warnings.
    table = page.index('<table class="cards">')
    assert page.index("<h1>") < min(places) < table < page.index('class="warnings"')
    assert places == sorted(places)


def test_the_release_comes_before_the_raw_table(page, result):
    """The officer signs the release: its risks come first, the raw table is the "before"."""
    text = _text(page)
    release, before = result["release"], text.index("Before: the table with names removed")
    (headline,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert result["risks"]["headline"] == html.unescape(headline)
    for sentence in (*release["remarks"], "Guarantee and measurements"):
        assert text.index(sentence) < before
    for sentence in result["verdict"]:
        assert text.index(sentence) > before
    # What stands in the box of warnings is not said twice.
    warning, remark = release["warnings"][0], release["remarks"][0]
    assert text.count(warning) == 1
    lines = [result["risks"][risk]["sentence"] for risk in RISKS]
    places = [_words(page).index(line) for line in lines]
    assert places == sorted(places)
    assert places[-1] < _words(page).index("Read this first")
    assert text.index(warning) < text.index(remark) < before
    assert before < text.index("A check of the attack itself failed")


def with_rate(audited, claim, high):
    """Return the release with another claim, and another interval of the rate."""
    rate = Interval(0.09, 0.07, high, 300)
    release, (adversary, _) = audited.published, audited.published.attacks[0]
    manifest = replace(release.manifest, claim=replace(release.manifest.claim, kind=claim))
    attacks = [(adversary, ATTACK._replace(reidentified=rate))]
    return replace(release, manifest=manifest, attacks=attacks)


CLAIMS = {"identical-rows": 0.1, "co-rated": 0.12}


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_interval_reaches_above_what_is_proven(audited, claim):
    page = replace(audited, published=with_rate(audited, claim, 0.12), figures=[]).to_html()
    assert f"9% (7–{percent(CLAIMS[claim])[:-1]})" in _text(page)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_chart_of_the_release_ends_at_what_is_proven_too(audited, monkeypatch, claim):
    drawn = []
    monkeypatch.setattr(audit_page, "draw_rates", lambda rows, _title: drawn.append(rows))
    release = replace(with_rate(audited, claim, 0.12), all_known=ATTACK)
    audit_page.draw_release(release)
    rows = [row for row in drawn[-1] if "user" in row["series"]]
    assert rows[-1]["high"] == CLAIMS[claim]
    # Adversaries who know all ratings re-identify most.
    assert [row["name"] for row in rows] == [each.name for each in rates_of(release)]
    assert rows[0]["name"] == "all ratings"


def test_charts_are_drawn_for_all_figures(page, result):
    drawings = len(result["figures"]) + len(("adversaries", "risk", "release"))
    assert page.count('<div class="chart"') == drawings
    for drawing in re.findall(r'<div class="chart"[^>]*>(.*?)</div>', page, re.DOTALL):
        assert drawing.startswith("<svg viewBox=")
        assert drawing.count("<path") > 3
    # The same identifier twice would make one drawing borrow from another.
    identifiers = re.findall(r'\sid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))


def test_charts_name_every_series_and_axis(page, result):
    for figure in result["figures"]:
        start = page.index(f'<figure id="figure-{figure["number"]}">')
        text = _text("<body>" + page[start : page.index("<details>", start)])
        for name in (figure["title"], figure["x"], figure["y"]):
            assert name in text
        for point in figure["points"]:
            assert point["series"] in text
            assert not isinstance(point["x"], str) or point["x"] in text


@pytest.mark.parametrize("width", [50, 60, 80])
def test_no_figure_of_a_release_is_cut_on_a_narrow_terminal(audited, monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    show_rates(Console(highlight=False), audited.published)
    table = [line for line in capsys.readouterr().out.splitlines() if {*line} & {*"│┃"}]
    assert max(map(len, table)) <= width
    words = {word for line in table for word in re.split(r"[\s│┃]+", line)}
    assert {"attacked", "6.2%", "6.6%"} <= words
    assert not [word for word in words if "…" in word]


def test_every_column_of_rates_has_a_legend(audited, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    show_audit(replace(audited, published=None))
    out = capsys.readouterr().out
    assert {"bits", "entropy", "control"} <= {*out.replace("┃", " ").split()}
    for term in ("wrong match", "bits", "entropy", "control"):
        assert f"\n{term.capitalize()}: {MEANINGS[term]}" in out
    show_rates(Console(highlight=False, width=200), audited.published)
    legend = " ".join(capsys.readouterr().out.split())
    assert "(a constant guess: 2%)" in legend
    (who, first), *_ = audited.published.attacks
    mixed = [(who, first), (who, first._replace(class_baseline=0.03))]
    show_rates(Console(highlight=False, width=200), replace(audited.published, attacks=mixed))
    assert "(a constant guess: 2% to 3%)" in " ".join(capsys.readouterr().out.split())
    assert "class re-identified: " in legend
    assert "user re-identified: " in legend


def test_steps_keep_their_order(result):
    [figure] = [figure for figure in result["figures"] if figure["number"] == "4"]
    given = list(dict.fromkeys(point["x"] for point in figure["points"]))
    labels = re.findall(r">(\d of \d)<", draw_curves(figure).svg)
    assert list(dict.fromkeys(labels)) == given


def test_numbers_are_those_of_the_audit(page, result):
    text = _text(page)
    for attack in result["attacks"]:
        for name in ("reidentified", "success", "wrong_match", "no_match", "control"):
            rate = [attack[name][key] for key in ("rate", "low", "high")]
            assert ("not measured" if rate[0] is None else estimate(rate)) in text
        assert attack["description"] in text
    for figure in result["figures"]:
        for point in figure["points"]:
            assert f"{point['series']} {_x(point)} {point['y']:.3f}" in text
    assert f" {result['theory'][0]['items']} " in text
    release = (
        "300 20 skipped 12.3% (10.1–14.6) 6.2% (3–9.5) of the others: 6.6% 0.33% 31.4% – 0.93 – –"
    )
    for found in (
        "users 300 ",
        "ratings 6,000 ",
        release,
        "37 not reached",
    ):
        assert found in text
    for entry in result["risk"]["bins"]:
        assert not entry["users"] or f" {entry['users']} " in text


def _x(point: dict) -> str:
    return point["x"] if isinstance(point["x"], str) else f"{point['x']:g}"


def test_the_papers_figures_are_folded_for_experts(page):
    start = page.index('<details class="expert">')
    end = page.index('<section id="sufficient">')
    assert start < page.index('<figure id="figure-') < page.rindex('<figure id="figure-') < end
    assert '<details class="expert" open' not in page


def test_words_are_explained_where_they_stand(page):
    of_table = page[page.index('<section id="adversaries">') : page.index('<section id="curves">')]
    for word in ("re-identified", "wrong match", "no match", "control", "random guess"):
        assert f"<dt>{word}</dt>" in of_table
    of_release = page[page.index('<section id="release">') : page.index('<section id="before">')]
    for word in ("class re-identified", "items inferred", "ratings inferred exactly"):
        assert f"<dt>{word}</dt>" in of_release


def test_on_narrow_screens_every_cell_says_what_it_is(page):
    tables = re.findall(r'<table class="cards">(.*?)</table>', page, re.DOTALL)
    assert len(tables) == 2
    for table in tables:
        head, body = table.split("</thead>")
        named = re.findall(r"<th[^>]*>(.*?)</th>", head)[1:]
        row = body[: body.index("</tr>")]
        labels = re.findall(r'<td [^>]*data-label="([^"]+)"', row)
        assert labels == [name.replace("&nbsp;", " ") for name in named]


def test_a_failed_check_is_red(page):
    assert re.search(r'badge fails">✗ fails</span></td>\s*<th scope="row">random knowledge', page)
    assert re.search(
        r'badge holds">✓ holds</span></td>\s*<th scope="row">full exact knowledge', page
    )


def test_parts_may_lack(audited):
    lone = replace(audited.attacks[0], adversary=Adversary(known=4))
    bare = replace(
        audited, attacks=[lone], figures=[], checks=[], sufficient=[], risk=None, published=None
    )
    page = bare.to_html()
    assert "this adversary" in _text(page)
    assert [name for name in SECTIONS if f'id="{name}"' in page] == [
        "adversaries",
        "sufficient",
        "notes",
    ]


def test_numbers_of_releases_that_cannot_be_had_are_dashes(page):
    assert " nan " not in _text(page)


def test_series_differ_without_colours():
    looks = draw_looks(str(series) for series in range(30))
    assert len({(look.shape, tuple(look.dash)) for look in looks}) == len(looks)
    assert len({(look.colour, look.shape) for look in looks}) == len(looks)
    assert (len(COLOURS), len(SHAPES), len(DASHES)) == (7, 6, 5)


def test_a_failed_write_leaves_the_old_page(tmp_path, monkeypatch, audited):
    target = tmp_path / "audit.html"
    target.write_text("old")

    def fail(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with raises("machine.disk"):
        audited.to_html(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
