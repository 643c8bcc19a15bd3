"""The pages name every verb, option, signature and figure as the code and the experiments do."""

import ast
import csv
import importlib
import inspect
import pkgutil
import re
import runpy
from collections import Counter
from pathlib import Path

import typer

import recveil
from recveil.cli import app
from recveil.cli.options import Format
from recveil.io import FORMATS
from recveil.release.specs.nominal import UNDONE as NOMINAL_UNDONE
from recveil.release.specs.predictive import PADDED_UNDONE
from recveil.report.audit.disclosure import MEMBERSHIP
from repository import DOCS, MODULES, PAGES, ROOT, SOURCE, name_of, text_of

VERBS = {command.callback.__name__: command.callback for command in app.registered_commands}
COMMANDS = typer.main.get_command(app).commands
TWINS = {
    "anonymize": "recveil.methods",
    "audit": "recveil.auditing",
    "audit-lists": "recveil.evaluation",
    "budget": "recveil.publish",
    "compare": "recveil.comparison",
    "config": "recveil.cli.settings_file",
    "convert": "recveil.publish",
    "demo": "recveil.demo",
    "describe": "recveil.publish",
    "evaluate": "recveil.evaluation",
    "forget": "recveil.methods",
    "generate": "recveil.datasets",
    "inspect": "recveil.inspection",
    "precompile": "recveil.precompilation",
    "report": "recveil.report.assessment",
    "sample": "recveil.methods",
    "selftest": "recveil.auditing",
    "verify": "recveil.verification",
    "workbench": "recveil.workbench",
}


def section_of(title: str) -> str:
    """Return a section of docs/cli.md; an empty text if there is none."""
    docs = text_of(DOCS / "cli.md")
    found = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", docs, re.DOTALL | re.MULTILINE)
    return found[0] if len(found) == 1 else ""


def names_of_options(verb: str) -> list[list[str]]:
    """Return all names of each option of a verb, but for --help."""
    return [
        [*option.opts, *option.secondary_opts]
        for option in COMMANDS[verb].params
        if option.opts[0][0] == "-"
    ]


def missing_of(verb: str) -> list[str]:
    """Name what a verb lacks: help, an example, a section, a library twin."""
    function, section = VERBS[verb], section_of(verb)
    text = inspect.getdoc(function)
    name = verb.replace("-", "_")
    twin = getattr(importlib.import_module(TWINS[verb]), name)
    is_there = {
        "a sentence of help": len(text.splitlines()[0]) > 20,
        "an example in its help": f"Example: `recveil {verb}" in text,
        "an example in its section": f"$ recveil {verb}" in section,
        "its library twin in its section": TWINS[verb] in section,
        "a call of its library twin": f"from {TWINS[verb]} import"
        in text_of(SOURCE / "cli" / f"{name}.py"),
        "a docstring of its library twin": callable(twin) and bool(twin.__doc__),
    }
    for name, parameter in inspect.signature(function).parameters.items():
        (info,) = parameter.annotation.__metadata__
        is_there[f"help of {name}"] = bool(info.help)
    return [f"{verb}: {what}" for what, is_so in is_there.items() if not is_so]


def test_every_verb_is_documented():
    assert [what for verb in VERBS for what in missing_of(verb)] == []
    docs = text_of(DOCS / "cli.md")
    known = {name for verb in VERBS for names in names_of_options(verb) for name in names}
    of_all = {"--help", "--version", "--install-completion", "--show-completion"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", docs)) - known - of_all == set()
    untold = [
        name
        for name in FORMATS
        if f"`{name}`" not in docs or name not in Format.__metadata__[0].help
    ]
    assert untold == []


# A command, to the end of its code span, line or shell command; a backslash continues a line.
COMMAND = re.compile(r"recveil ([\w-]+)((?:\\\n|(?!recveil )[^`\n;|&])*)")
# The changelog and the list of wrong answers name options as they were.
HISTORY = {"CHANGELOG.md", "docs/appendix/reliability.md"}


def unknown_options_of(text: str) -> list[str]:
    """Return the options in a text's commands that their verbs lack.

    Examples
    --------
    >>> unknown_options_of("`recveil verify out --kk 5`, recveil audit r.csv --release out")
    ['verify --kk']
    """
    return [
        f"{verb} {option}"
        for verb, rest in COMMAND.findall(text)
        if verb in COMMANDS
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)
        if option != "--help" and not any(option in names for names in names_of_options(verb))
    ]


def test_every_named_command_has_its_options():
    """Cards advised `audit --earlier-release`, an option of another verb."""
    assert unknown_options_of("`recveil verify out --kk 5`") == ["verify --kk"]
    templates = [file for file in SOURCE.rglob("*.jinja") if "until_8" not in file.parts]
    pages = [page for page in PAGES if name_of(page) not in HISTORY]
    found = [
        f"{name_of(file)}: {what}"
        for file in [*pages, *templates, *MODULES]
        for what in unknown_options_of(text_of(file))
    ]
    assert found == []


def anchors_of(page: Path) -> set[str]:
    """Return what links may name in a page: its headings, as the site and GitHub write them."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_and_paths_lead_somewhere():
    """What a page links, and what an error, a card, a comment or a page names, can be opened."""
    found = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s:]+)\)", text_of(page)):
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            if not linked.exists() or (anchor and anchor not in anchors_of(linked)):
                found.append(f"{name_of(page)}: {target}")
    folders = [ROOT / name for name in ("src", "tests", "experiments", "torture", "benchmarks")]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix != ".pyc"]
    for file in [*PAGES, *filter(Path.is_file, files)]:
        for name in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text("utf-8", "replace")):
            if not (ROOT / name).exists():
                found.append(f"{name_of(file)}: {name}")
    assert found == []


def test_the_site_has_every_page_option_and_package():
    """`make docs` builds it, and fails on every link that leads nowhere."""
    conf = runpy.run_path(str(ROOT / "website" / "conf.py"))
    placed = [name for chapter in conf["CHAPTERS"].values() for name in chapter]
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    assert sorted(placed) == sorted(pages - {"index"})
    options, found = conf["options_page"](), []
    for name, command in COMMANDS.items():
        (section,) = re.findall(rf"^## recveil {name}\n(.*?)(?=^## |\Z)", options, re.M | re.S)
        found += [
            f"{name} {spelled}"
            for option in command.params
            for spelled in option.opts
            if spelled.startswith("-") and f"`{spelled}`" not in section and option.name != "help"
        ]
        rows = [line for line in section.splitlines() if line.startswith("|")]
        found += [row for row in rows if len(re.findall(r"(?<!\\)\|", row)) != 4]
    # What several methods say of one option is joined by semicolons, not after a full stop.
    assert "; for nominal, " in options
    found += re.findall(r"\w\w\.;", options)
    named = set(re.findall(r"^\| `recveil\.(\w+)` \|", text_of(DOCS / "api.md"), re.M))
    small = {"progress", "memory"}  # one function or two, described on the library's page
    found += sorted(named - small - set(conf["PACKAGES"]))
    functions = conf["functions_page"]()
    found += [
        package
        for package in conf["PACKAGES"]
        if f".. automodule:: recveil.{package}\n" not in functions
    ]
    found += [
        target
        for target in re.findall(r"\]\(([^)#:]+)\)", conf["security_page"]())
        if not (DOCS / "explanation" / target).exists()
    ]
    assert found == []
    assert conf["smartquotes"] is False  # an option that a page shows is one that can be copied
    assert conf["release"] == recveil.__version__


PACKAGES = [module.name for module in pkgutil.iter_modules(recveil.__path__) if module.ispkg]
# A name, what stands between its brackets, and perhaps what it returns.
CALL = re.compile(r"([A-Za-z_][\w.]*)\((.*)\)(?: -> (\w+))?")


def spans(text: str) -> list[str]:
    """Return what stands between backticks, but for blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def find(name: str, package: str):
    """Return what a package of recveil calls by a name, dotted or not; None if nothing."""
    *modules, own = name.split(".")
    try:
        module = importlib.import_module(".".join(["recveil", package, *modules]))
    except ImportError:
        return None
    return getattr(module, own, None)


def signatures_of(package: str) -> list[str]:
    """Return the signatures in the first column of a package's section of docs/api.md."""
    section = re.search(
        rf"^## recveil\.{package}\n(.*?)(?=^## |\Z)", text_of(DOCS / "api.md"), re.M | re.S
    )
    rows = section.group(1).splitlines() if section else []
    cells = [row.split(" | ")[0] for row in rows if row.startswith("|")]
    return [span for cell in cells for span in spans(cell) if CALL.fullmatch(span)]


def words_of_docs(arguments: str) -> list[str]:
    """Split what stands between the brackets; `*` and `...` are words, too."""
    # As the parameters of a function, but that it cannot have a "..." among them.
    marked = re.sub(r"\.\.\.", "*, etc_=..." if "*" not in arguments else "etc_=...", arguments)
    parsed = ast.parse(f"lambda {marked}: 0", mode="eval").body.args
    defaults = [None] * (len(parsed.args) - len(parsed.defaults)) + parsed.defaults
    words = [_word(*pair) for pair in zip(parsed.args, defaults, strict=True)]
    named = [_word(*pair) for pair in zip(parsed.kwonlyargs, parsed.kw_defaults, strict=True)]
    star = ["*"] if re.search(r"\*", arguments) else []
    return words + star + named


def _word(argument: ast.arg, default: ast.expr | None) -> str:
    if argument.arg == "etc_":
        return "..."
    return argument.arg if default is None else f"{argument.arg}={ast.literal_eval(default)!r}"


def words_of_code(function) -> list[str]:
    """Return the same for a function: its parameters with their defaults, and a `*`."""
    words = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        if parameter.kind is parameter.VAR_KEYWORD:
            words.append("...")
        elif parameter.default is parameter.empty:
            words.append(name)
        else:
            words.append(f"{name}={parameter.default!r}")
    return words


def agree(docs: list[str], code: list[str]) -> bool:
    """Return whether all words are the same, up to those that `...` stands for.

    Examples
    --------
    >>> agree(["X", "n=24"], ["X", "n=24"]), agree(["X", "n=20"], ["X", "n=24"])
    (True, False)
    >>> agree(["X"], ["X", "n=24"]), agree(["X", "b='a'"], ["X", "*", "b='a'"])
    (False, False)
    >>> agree(words_of_docs("X, *, b='a', ..."), ["X", "*", "b='a'", "c=1", "..."])
    True
    >>> agree(words_of_docs("X, ..., c=1"), ["X", "*", "b='a'", "c=1"])
    True
    >>> agree(words_of_docs("X, ..., c=2"), ["X", "*", "b='a'", "c=1"])
    False
    >>> agree(words_of_docs("X, ..."), ["X"])
    False
    """
    if "..." not in docs:
        return docs == code
    place = docs.index("...")
    before, after = docs[:place], docs[place + 1 :]
    enough = len(code) > len(before) + len(after)
    return enough and code[:place] == before and code[len(code) - len(after) :] == after


def is_of_code(signature: str, package: str) -> bool:
    """Return whether a package has what a signature of docs/api.md says."""
    name, arguments, returned = CALL.fullmatch(signature).groups()
    function = find(name, package)
    if function is None or not agree(words_of_docs(arguments), words_of_code(function)):
        return False
    annotation = inspect.signature(function).return_annotation
    return not returned or returned in (annotation, getattr(annotation, "__name__", None))


def test_signatures_in_the_pages_are_those_of_the_code():
    listed = {package: signatures for package in PACKAGES if (signatures := signatures_of(package))}
    assert set(listed) == {"methods", "spark", "workbench"}
    found = [
        f"docs/api.md, recveil.{package}: {signature}"
        for package, signatures in listed.items()
        for signature in signatures
        if not is_of_code(signature, package)
    ]
    for page in DOCS.rglob("*.md"):
        for span in spans(text_of(page)) if page.name != "api.md" else ():
            match = CALL.fullmatch(span)
            named = [find(match.group(1), package) for package in PACKAGES] if match else []
            for function in filter(callable, named):
                parameters = inspect.signature(function).parameters
                if set(re.findall(r"(\w+)=", match.group(2))) - set(parameters):
                    found.append(f"{name_of(page)}: {span}")
    assert found == []
    rows = "".join(
        row for row in text_of(DOCS / "api.md").splitlines() if row.startswith("| `recveil` |")
    )
    names = [f"`{name}`" for name in recveil.__all__ if name != "__version__"]
    assert [name for name in [*names, "`recveil.__version__`"] if name not in rows] == []


# What docs/how-to/extending.md shows of tests, to the letter.
FROM, TO = "# docs/how-to/extending.md: from here\n", "# docs/how-to/extending.md: to here\n"


def test_the_page_on_extending_shows_what_is_tested():
    """One example for each registry."""
    shown = {
        file.stem: file.read_text(encoding="utf-8").split(FROM)[1].split(TO)[0].strip()
        for file in (ROOT / "tests").rglob("test_*.py")
        if file != Path(__file__) and FROM in file.read_text(encoding="utf-8")
    }
    assert set(shown) == {
        "test_another_method",
        "test_another_claim",
        "test_another_attack",
        "test_another_measure",
    }
    page = text_of(DOCS / "how-to" / "extending.md")
    assert [name for name, code in shown.items() if f"```python\n{code}\n```" not in page] == []


FIGURES_OF_CARDS = {
    "predictive.md.jinja": (
        *("63%", "52%", "93%", "24%", "79%", "97%", "0.98", "0.998", "0.84"),
        *("94% of them", "74% with k = 50", "84% of the ratings", "60%", "94% from eight"),
    ),
    "k_corating.md.jinja": (*("81%", "68%", "36%", "7%", "71%", "99%", "1.00", "0.93", "0.77"),),
}
# Behind each figure of a card, the row of measured.csv that it rounds.
MEASURED = {
    "cells really rated, 95 % right | 62.6%": "63%",
    "lone ratings inferred and exact | 51.7%": "52%",
    "lone ratings exact, cell known | 92.7%": "93%",
    "k-corating, k = 5: members, all known (AUC) | 1.00": "1.00",
    "k-corating, k = 5: members, 16 known (AUC) | 0.93": "0.93",
    "k-corating, k = 5: members, 8 known (AUC) | 0.77": "0.77",
    "padded, k = 5: membership, 16 ratings | 0.982": "0.98",
    "padded, k = 5: membership, all ratings | 0.998": "0.998",
    "padded, k = 50: membership, all ratings | 0.836": "0.84",
    "group inferred by bystander | 24.4%": "24%",
    "group inferred by paper | 52.4%": "52%",
    "group inferred by public-profile | 78.5%": "79%",
    "group inferred by insider | 97.0%": "97%",
    "item-mean: re-identified by eight items, 5 % of the users known | 81.2%": "81%",
    "similarity: re-identified by eight items, 5 % of the users known | 67.6%": "68%",
    "random: re-identified by eight items, 5 % of the users known | 35.5%": "36%",
    "whole labels that are every rater's exact rating | 94.3%": "94%",
    "inferred for certain by an adversary who knows the rest of the group | 84.0%": "84%",
}
# What documents and sentences round of the same experiments.
FIGURES = {
    "the README": ("64% of the ratings", "94% of cases", "95% of the marks right", "AUC 0.98"),
    "the section on padded rows": ("62.6%", "51.7%", "24.4%", "92.7%", "0.98", "1.00"),
    "PADDED_UNDONE": ("63%", "52%", "24%", "95%"),
    "MEMBERSHIP": ("lower bound",),
}


def read_measured() -> list[dict[str, str]]:
    """Return the rows of measured.csv."""
    with (DOCS / "appendix" / "reproduction" / "measured.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measured_rows() -> str:
    """Return what the experiments measured, one row a line: what, ours, the paper's."""
    rows = read_measured()
    return "\n".join(f"| {row['what']} | {row['recveil']} | {row['compared']} |" for row in rows)


def test_the_page_on_reproduction_has_the_measured_figures():
    figure = re.compile(r"(?<![\w.])-?\d[\d,]*\.\d+%?")
    page = text_of(DOCS / "appendix" / "reproduction.md")
    cells = re.sub(r"`[^`]*`|\]\([^)]*\)|(Figs?\.|Def\.|Theorem) \d[\d., andto]*", "", page)
    tables = "\n".join(line for line in cells.splitlines() if line.startswith("|"))
    named, known = set(figure.findall(tables)), set(figure.findall(measured_rows()))
    assert len(named) > 200
    assert named <= known


def test_the_page_on_reproduction_counts_the_claims_of_papers_apart_from_others():
    """Rows of others' attacks, and of what recveil promises, are no claims of the papers."""
    rows = read_measured()
    own = ("outside_", "likes", "words")
    counts = Counter((row["script"].startswith(own), row["holds"]) for row in rows)
    holds, fails = counts[False, "yes"], counts[False, "no"]
    page = " ".join(text_of(DOCS / "appendix" / "reproduction.md").split())
    assert f"Of {holds + fails} judged rows, {holds} hold and {fails} fail." in page
    assert f"Another {counts[True, 'yes']} rows" in page
    assert not counts[True, "no"]
    assert f"All {len(rows):,} measured rows" in page
    assert len({(row["script"], row["data"], row["what"]) for row in rows}) == len(rows)


# What the papers number, by kind.
ITEMS_OF_PAPERS = {
    "Narayanan": {"Def": "1 2 3 4", "Lemma": "1", "Theorem": "1 2 3 4 5", "Fig": range(1, 13)},
    "Chang": {
        **{"Def": "2.1 3.1 3.2 3.3 5.1 5.2 5.3", "Theorem": "6.1 6.2 6.3", "Algorithm": "1"},
        **{"Table": "1 2 3", "Fig": "1 2 3 4 5"},
    },
    "k-coRating": {
        **{"Def": "2 3 4", "Theorem": "1 2", "Lemma": "1 2", "Observation": "1 2"},
        **{"Algorithm": "1 2 3 4", "Table": "1 2 3 4", "Fig": "1 2 3"},
    },
    "thesis": {
        **{"Def": "1", "Lemma": "1 2", "Algorithm": "1 2"},
        "Fig": "1.1 1.2 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9 3.1 3.2 3.3 3.4 3.5 4.1 4.2 4.3 4.4 "
        "5.1 5.2 5.3 6.1 6.2",
    },
}


def rows_of(section: str) -> list[list[str]]:
    """Return the cells of a section's table, but for its head."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_each_item_of_the_papers_has_a_command_and_a_result():
    page = text_of(DOCS / "appendix" / "reproduction.md")
    rows = rows_of(page.split("## Every definition, ")[1].split("\n## ")[0])
    assert [row for row in rows if len(row) != 4 or not all(row[1:])] == []
    assert "missing" not in str(rows)
    numbered = re.compile(
        r"(Def|Fig|Table|Lemma|Theorem|Algorithm|Observation)s?\.? "
        r"(\d[\d.]*(?:(?:, | and )\d[\d.]*)*)"
    )
    named, paper = set(), ""
    for row in rows:
        paper = row[0] or paper
        for kind, numbers in numbered.findall(row[1]):
            named |= {(paper, kind, number) for number in re.split(", | and ", numbers)}
    expected = {
        (paper, kind, str(number))
        for paper, kinds in ITEMS_OF_PAPERS.items()
        for kind, numbers in kinds.items()
        for number in (numbers.split() if isinstance(numbers, str) else numbers)
    }
    assert named == expected
    assert "| Table, ratings outside the top |" in page  # the first paper numbers no table


def test_each_claim_of_the_papers_names_its_script():
    page = text_of(DOCS / "appendix" / "reproduction.md")
    scripts = {row["script"] for row in read_measured()}
    prefixes = "narayanan_|chang_|thesis_|k_corating_"
    named = set(re.findall(rf"`((?:{prefixes})\w+)(?: |`)", page))
    papers = {script for script in scripts if re.match(prefixes, script)}
    assert named == papers
    tables = re.findall(r"\n\| script \| claim .*\n(?:\|.*\n)+", page)
    cells = [row[0] for table in tables for row in rows_of(table)]
    assert len(tables) == 4
    assert [cell for cell in cells if not set(re.findall(r"`(\w+)`", cell)) & papers] == []


def test_figures_are_those_of_the_experiments():
    """One experiment, one set of figures: the sentences, the threats, the cards and the README."""
    measured = measured_rows()
    threats = text_of(DOCS / "explanation" / "threats.md")
    (section,) = re.findall(r"## What padded rows reveal\n(.*?)\n## ", threats, re.DOTALL)
    texts = {
        "the README": text_of(ROOT / "README.md"),
        "the section on padded rows": section,
        "PADDED_UNDONE": PADDED_UNDONE,
        "MEMBERSHIP": MEMBERSHIP,
    }
    for name in FIGURES_OF_CARDS:
        texts[name] = text_of(SOURCE / "release" / "cards" / name)
    found = [
        f"{name}: {figure}"
        for name, figures in (FIGURES_OF_CARDS | FIGURES).items()
        for figure in figures
        if figure not in " ".join(texts[name].split())
    ]
    said = {figure for figures in FIGURES_OF_CARDS.values() for figure in figures}
    found += [
        f"{row}: {figure}"
        for row, figure in MEASURED.items()
        if row not in measured or not any(words.startswith(figure) for words in said)
    ]
    assert found == []


def test_the_figures_of_words_are_those_of_the_experiments():
    """What the card of a release of words and the methods say was measured, and is not of old."""
    measured = measured_rows()
    methods = text_of(DOCS / "explanation" / "methods.md")
    settings = (
        "nominal, k = 5",
        "nominal, k = 20",
        "nominal-shares, k = 5",
        "nominal-shares, k = 20",
    )
    one, other, *drawn = (
        re.findall(rf"\| compared, {of}: shadows \(AUC\) \| (0\.\d\d)", measured)[0]
        for of in settings
    )
    (counts,) = re.findall(r"counts of items with words .*\(AUC\) \| ([01]\.\d\d)", measured)
    assert (
        f"{one} with commonest labels and k = 5, {other} with k = 20, and with sampled labels "
        f"{drawn[0]} and {drawn[1]}, where exact counts of each item with each label give {counts}"
    ) in NOMINAL_UNDONE
    assert (
        f"an AUC of {one} (k = 5, most frequent labels; {other} with k = 20; sampled labels "
        f"{drawn[0]} and {drawn[1]}; exact counts of each item with each label {counts})"
    ) in methods
