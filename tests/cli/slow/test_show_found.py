"""What a release reveals is printed in tables: short, and without leaving a figure out."""

import re

import pytest

from shared.cli_show_found import MADE, audited, printed  # noqa: F401 (fixtures)

# Shares, areas and counts with a point: k and how much is known are none of what was measured.
FIGURE = re.compile(r"(?<![\w.])\d+\.\d+")


@pytest.mark.parametrize("name", MADE)
def test_no_figure_of_the_verdict_is_left_out(name, audited, printed):
    """Nor an interval, a baseline or a control, nor a sentence that warns."""
    found, text = audited[name].to_dict(), printed(audited[name], 250)
    manifest = audited[name].published.manifest
    in_readme = manifest.known_method.undone_by(manifest.settings)
    result = [found["release"]["headline"], *found["release"]["verdict"], found["verdict"][0]]
    result = [sentence for sentence in result if sentence not in in_readme]
    shown = set(FIGURE.findall(text))
    for sentence in result:
        for figure in FIGURE.findall(sentence):
            assert figure in shown, sentence
    words = " ".join(text.split())
    # A row of the table shows that too few targets have enough ratings.
    warnings = [*found["dangers"], *found["release"]["warnings"], *found["warnings"]]
    for warning in (each for each in warnings if "too few ratings" not in each):
        assert warning in words
