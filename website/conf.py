"""The site, built from docs/ by `make docs`; what follows from the code is written here.

Sphinx reads the names in small letters, and calls `setup`. Nothing on the site comes from the
network, and its search works in files that are opened from a disk.
"""

import re
from collections.abc import Callable
from pathlib import Path

import typer

import recveil
from recveil.cli import app as verbs
from recveil.report.glossary import MEANINGS

ROOT = Path(__file__).parents[1]
project = "recveil"
copyright = "the recveil maintainers"
version = release = recveil.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"recveil {release}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
myst_heading_anchors = 4
smartquotes = False  # two hyphens begin an option, and are no dash
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
# Names in docstrings are no links; of two functions with a parameter of one name neither is wrong.
suppress_warnings = ["ref.python"]
napoleon_use_rtype = False
# Pages in the margin, in reading order.
CHAPTERS = {
    "Tutorials": ("tutorial/index", "tutorial/owner", "tutorial/researcher", "tutorial/officer"),
    "How to": (
        *("how-to/index", "how-to/install", "how-to/own", "how-to/choose", "how-to/inputs"),
        *(
            "how-to/postgresql",
            "how-to/monthly",
            "how-to/dates",
            "how-to/attributes",
            "how-to/forget",
            "how-to/check",
            "how-to/recommender",
            "how-to/questions",
            "how-to/workbench",
            "spark",
            "how-to/extending",
            "how-to/cite",
        ),
    ),
    "Reference": (
        *("reference/index", "cli", "reference/options", "api", "reference/functions"),
        *("reference/release-format", "reference/errors", "reference/stability"),
        "reference/glossary",
    ),
    "Explanation": (
        *("explanation/index", "explanation/promises", "explanation/other-tools"),
        "explanation/methods",
        *("explanation/differential-privacy", "explanation/k-corating", "explanation/threats"),
        *("explanation/performance", "explanation/security"),
    ),
    "Appendix for reviewers": (
        *("appendix/index", "appendix/results", "appendix/reproduction"),
        *("appendix/reliability", "appendix/architecture"),
    ),
}
# What scikit-learn adds to every grouping, in words that link to its own site; and what another
# package of those below tells of.
LEFT_OUT = "set_fit_request, set_predict_request, set_score_request, get_metadata_routing"
TOLD_ELSEWHERE = {"methods": "Release"}
# What others import; a package's own page tells of its smaller modules.
PACKAGES = (
    *("ratings", "io", "inspection", "auditing", "methods", "verification", "evaluation"),
    *("comparison", "publish", "release", "attacks", "clustering", "predict", "datasets"),
    "runtime.errors",
)


def setup(app) -> None:
    """Let Sphinx ask for the text of each page."""
    app.connect("source-read", lambda _, name, source: read(name, source))


def read(name: str, source: list[str]) -> None:
    """Put what is made in the place of a page's text, and the chapters below the first page."""
    if name in MADE:
        source[0] = MADE[name]()
    source[0] = source[0].replace("](../SECURITY.md", "](explanation/security.md")
    if name == "reference/glossary":
        source[0] += report_terms()
    if name == "index":
        source[0] += "\n".join(map(chapter, CHAPTERS))


def chapter(title: str) -> str:
    """Return a part of the table of contents."""
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {title}", *CHAPTERS[title], "```"]
    )


def security_page() -> str:
    """Return SECURITY.md, whose links begin at the repository's root."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    return text.replace("](docs/explanation/", "](").replace("](docs/", "](../")


def report_terms() -> str:
    """Return the table of what `--explain` prints."""
    rows = [f"| {term} | {meaning} |" for term, meaning in sorted(MEANINGS.items())]
    return "\n".join(["", "| term | meaning |", "|---|---|", *rows, ""])


def options_page() -> str:
    """Write down every verb with all its options, as `recveil VERB --help` tells them."""
    lines = ["# Every option", "", "Made from the code, as `recveil VERB --help` has it.", ""]
    for name, command in sorted(typer.main.get_command(verbs).commands.items()):
        lines += [f"## recveil {name}", "", plain(command.help or ""), ""]
        lines += ["| option | what it does | if not given |", "|---|---|---|"]
        lines += [option_row(option) for option in command.params if option.name != "help"]
        lines.append("")
    return "\n".join(lines)


def option_row(option) -> str:
    """Return the row of an option or argument in a table."""
    names = [*option.opts, *option.secondary_opts]
    if option.param_type_name == "argument":
        names = [option.metavar or option.name.upper()]
    has_one = option.default not in (None, False, ()) and not callable(option.default)
    cells = (
        ", ".join(f"`{name}`" for name in names),
        plain(option.help or ""),
        f"`{option.default}`" if has_one else "",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plain(text: str) -> str:
    """Undo what a terminal would show in colour."""
    return re.sub(r"\[/?[a-z ]*\]", "", text).strip()


def functions_page() -> str:
    """Name every public package, so that autodoc fills in what their docstrings say."""
    lines = ["# Every function", "", "Made from the docstrings.", ""]
    for package in PACKAGES:
        lines += [f"## recveil.{package}", "", "```{eval-rst}"]
        lines += [f".. automodule:: recveil.{package}", "   :members:", "   :imported-members:"]
        without = ", ".join(filter(None, [LEFT_OUT, TOLD_ELSEWHERE.get(package)]))
        lines += [f"   :exclude-members: {without}", "```", ""]
    return "\n".join(lines)


MADE: dict[str, Callable[[], str]] = {
    "reference/options": options_page,
    "reference/functions": functions_page,
    "explanation/security": security_page,
}
