"""recveil anonymize."""

import sys
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json
from recveil.report.terminal import echo
from recveil.runtime.errors import WARNING

if TYPE_CHECKING:
    from recveil.methods._anonymize import AnonymizeOptions, ReleaseOptions
    from recveil.publish import PrivacyTotal
    from recveil.publish.size_estimate import Expected


def anonymize(
    source: options.Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder to publish. OUTPUT.private, next to it, is private.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            help="The claim: at least this many users share each row (Chang et al., Definition "
            "3.3), or, with --method k-corating, its items (k-CoRating, Definition 3). With "
            "--method predictive, --privacy-levels sets k per user. --epsilon is another guarantee."
        ),
    ] = None,
    layout: Annotated[
        Literal["auto", "users", "groups", "model"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="users: one row per user; groups: one row per group, with its size; model: the "
            "model of synthetic users; auto: groups for padded rows and nominal labels, else "
            "users.",
        ),
    ] = "auto",
    file_format: Annotated[
        Literal["parquet", "csv"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Format of the published ratings: parquet or csv.",
        ),
    ] = "parquet",
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Random seed: the same seed gives the same release. Default: a new random one.",
        ),
    ] = None,
    hide_items: Annotated[
        bool,
        typer.Option(
            "--hide-items",
            rich_help_panel="Output",
            help="Replace item ids by pseudonyms; audit --release measures how many can be "
            "re-identified.",
        ),
    ] = False,
    force: Force = False,
    allow_large: options.AllowLarge = False,
    allow_sparse_coverage: Annotated[
        bool,
        typer.Option(
            "--allow-sparse-coverage",
            help="Allow a release that keeps fewer than 10 of at least 20 items, or fewer than 3 "
            "ratings for more than 90% of the users.",
        ),
    ] = False,
    earlier_release: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Output",
            help="An earlier release in another folder: warns if it has some of the same users.",
        ),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The private folder of the release before: users keep their group, so that k "
            "users share all rows in any releases of the series. For --method sparse.",
        ),
    ] = None,
    protect_riskiest: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Leave out this share of the users, those with the highest membership risk in "
            "--risk. Not with --epsilon, which does not cover such a choice.",
        ),
    ] = None,
    truncate_to: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --protect-riskiest: these users keep at most N of their ratings, sampled "
            "at random.",
        ),
    ] = None,
    risk: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --protect-riskiest: each user's risk, from audit --release --shadows.",
        ),
    ] = None,
    item_table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Output",
            help="A public table of items (titles, genres, ...): its rows of the published items "
            "are published as items.csv.",
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Output",
            help="A file of users and their attributes (user_id,gender,age, say): those that you "
            "name are published as users.csv. For --method sparse, or --epsilon.",
        ),
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel="Output",
            help="With --users: an attribute to publish, equal for all users of a class; repeat "
            "it for others. Rare combinations lose their last attributes. With --epsilon, also "
            "its public values, as in gender=F,M, for one more noisy query.",
        ),
    ] = None,
    sensitive_attribute: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel="Output",
            help="With --users: an attribute of which no value has more than 1/l of the users of "
            "a class.",
        ),
    ] = None,
    attribute_l: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            rich_help_panel="Output",
            help="With --sensitive-attribute: l, 2 by default.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only estimate the groups, the size and the time; write nothing.",
        ),
    ] = False,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
    **more: "Unpack[ReleaseOptions]",
) -> None:
    """Make a k-anonymous or differentially private release, and verify its files.

    Writes OUTPUT, to publish, and OUTPUT.private, to keep secret.

    Example: `recveil anonymize ratings.csv -o out --k 5`,

    or `recveil anonymize ratings.csv -o out --epsilon 3 --scale 1:5:1`,

    or `recveil anonymize may.csv -o may --k 5 --previous april.private`
    """
    options.reject_idle_master(engine, master)
    if dry_run and (explain or engine == "spark"):
        other = "--explain" if explain else "--engine spark"
        raise typer.BadParameter(f"--dry-run: not with {other}; drop one of the two")
    keywords: AnonymizeOptions = {
        "k": k,
        "layout": layout,
        "file_format": file_format,
        "seed": seed,
        "hide_items": hide_items,
        "force": force,
        "allow_large": allow_large,
        "allow_sparse_coverage": allow_sparse_coverage,
        "earlier_release": earlier_release,
        "previous": previous,
        "protect_riskiest": protect_riskiest,
        "truncate_to": truncate_to,
        "risk": risk,
        "item_table": item_table,
        "users": users,
        "attribute": attribute or None,
        "sensitive_attribute": sensitive_attribute,
        "attribute_l": attribute_l,
        **more,  # type: ignore[typeddict-item]
    }
    if engine == "spark":
        _run_by_spark(source, output, json, master, keywords, explain=explain)
        return
    if dry_run:
        _run_dry(source, output, json, keywords)
        return
    from recveil.cli.outputs import is_stdout, write_json
    from recveil.methods import anonymize
    from recveil.publish import PrivacyLossWarning
    from recveil.publish.folder import naming_spending
    from recveil.release.coverage import CoverageWarning
    from recveil.report.release import release_to_dict, show_release
    from recveil.runtime.errors import LinkageWarning

    estimates: list[Expected] = []
    reported: list[str] = []

    def report(expected: "Expected") -> None:
        estimates.append(expected)
        _report(expected)

    with naming_spending(), warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)  # printed with the release
        warnings.simplefilter("ignore", LinkageWarning)
        warnings.simplefilter("ignore", PrivacyLossWarning)  # printed before the first query
        on_total = partial(_report_total, reported=reported)
        made = anonymize(source, output, on_estimate=report, on_total=on_total, **keywords)
        if json is None or not is_stdout(json):
            reported += made.reading.alike_users  # printed with the input
        _report_warnings(made.warnings(), reported)
        if write_json(release_to_dict(made, estimates[0] if estimates else None), json):
            show_release(made, is_explained=explain)
        sys.stdout.flush()


def _report(expected: "Expected", *, timed: bool = True) -> None:
    from recveil.report.release import describe_estimate

    echo(f"{describe_estimate(expected, timed=timed)}.", err=True)


def _report_total(total: "PrivacyTotal", reported: list[str]) -> None:
    from recveil.report.release import describe_total

    reported.append(describe_total(total))
    echo(reported[-1], err=True)


def _report_warnings(found: Iterable[str], reported: list[str]) -> None:
    """Print warnings, without the sentences that were printed before the work."""
    for warning in found:
        for sentence in reported:
            warning = warning.removeprefix(sentence).lstrip()
        if warning:
            echo(f"{WARNING}{warning}", err=True)


def _run_by_spark(
    source: str,
    output: Path,
    json: Path | None,
    master: str | None,
    keywords: "AnonymizeOptions",
    *,
    explain: bool,
) -> None:
    from recveil.cli.outputs import write_json
    from recveil.publish.folder import naming_spending
    from recveil.release.coverage import CoverageWarning
    from recveil.report.release import show_released
    from recveil.runtime.errors import LinkageWarning
    from recveil.spark import anonymize

    estimate, reported = partial(_report, timed=False), list[str]()
    with naming_spending(), warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)  # printed with the release
        warnings.simplefilter("ignore", LinkageWarning)
        made = anonymize(
            *(source, output),
            on_estimate=estimate,
            on_total=partial(_report_total, reported=reported),
            master=master,
            **keywords,
        )
        _report_warnings(made.warnings(), reported)
        if write_json(made.to_dict(), json):
            show_released(made, is_explained=explain)
        sys.stdout.flush()


def _run_dry(source: str, output: Path, json: Path | None, keywords: "AnonymizeOptions") -> None:
    from recveil.cli.outputs import write_json
    from recveil.methods import dry_run
    from recveil.report.release import dry_run_to_dict, show_dry_run

    estimate = dry_run(source, output, **keywords)
    if write_json(dry_run_to_dict(estimate), json):
        show_dry_run(estimate)
