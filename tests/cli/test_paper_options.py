"""The help of each option that comes from a paper names the paper and the place in it."""

import re

import pytest
import typer

from recveil.cli import app

PAPER = re.compile(r"Narayanan & Shmatikov|Chang et al\.|k-CoRating|Chen 2012")
PLACE = re.compile(
    r"sections? \d|Definitions? \d|Figures? \d|Tables? \d|Algorithms? \d|eqs?\. \d|Theorem \d|"
    r"footnote \d|Conclusion"
)
# The paper is named in the option's help, or in the title of its panel.
OPTIONS = {
    "audit": (
        *("preset", "known", "right", "wrong-kind", "rating-error", "date-error", "outside-top"),
        *("activity-error", "first-date-error", "algorithm", "eccentricity", "rating-width"),
        *("day-width", "threshold", "tune", "auxiliary", "item-titles", "auxiliary-titles"),
        *("match-certainty", "matches-output", "item-matches", "sensitive"),
    ),
    "anonymize": (
        *("k", "homogenize", "grouping", "distance", "centers", "assignment", "predictor"),
        *("neighbours", "padding", "privacy-levels", "b", "l", "diversity", "closeness"),
        *("workloads", "fill", "trust", "direct-weights", "trust-steps"),
    ),
    "verify": ("k", "b", "l", "claim", "links"),
    "evaluate": ("null-rule",),
}
VERBS = typer.main.get_command(app).commands


@pytest.mark.parametrize(
    ("verb", "name"), [(verb, name) for verb, names in OPTIONS.items() for name in names]
)
def test_the_paper_is_named(verb, name):
    (option,) = (one for one in VERBS[verb].params if f"--{name}" in one.opts)
    text = f"{option.rich_help_panel or ''}: {option.help}"
    assert PAPER.search(text), text
    assert PLACE.search(text), text


@pytest.mark.parametrize("predictor", ["user-knn", "trust-knn", "funk-svd-plain"])
def test_predictors_name_their_paper(predictor):
    (option,) = (one for one in VERBS["anonymize"].params if "--predictor" in one.opts)
    assert re.search(rf"{predictor}[^;]*?[ (](eqs?\.|section)", option.help)


@pytest.mark.parametrize("verb", OPTIONS)
def test_no_panel_of_a_paper_has_an_option_that_is_left_out(verb):
    for option in VERBS[verb].params:
        if PAPER.search(getattr(option, "rich_help_panel", None) or ""):
            assert option.opts[0].removeprefix("--") in OPTIONS[verb]
