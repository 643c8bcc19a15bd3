"""recveil evaluate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Format, Json, Scale

if TYPE_CHECKING:
    from rich.console import Console

_GROUND = "Held-out ratings"


def evaluate(
    source: Annotated[
        Path | None,
        typer.Argument(help="A file of ratings, for --split; - reads standard input."),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The release to be judged."),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_GROUND, help="The file that the release was made from."
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_GROUND, help="Other ratings of the same people."
        ),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=_GROUND,
            help="Hold so much of SOURCE out, and judge a release of the rest that is made like "
            "DIR.",
        ),
    ] = None,
    null_rule: Annotated[
        Literal["zero", "lowest", "skip", "item_mean"],
        typer.Option(
            metavar="RULE",
            help="What a cell counts as that a row lacks: zero, lowest, skip, item_mean.",
        ),
    ] = "zero",
    targets: Annotated[
        int, typer.Option(min=1, help="How many people each adversary looks for.")
    ] = 1_000,
    membership: Annotated[
        bool, typer.Option(help="Measure whether an adversary can tell who was in the data.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    format: Format = None,
    scale: Scale = None,
    duplicates: Duplicates = "error",
    drop_off_scale: options.DropOffScale = False,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    time: options.TimeColumn = None,
    time_format: options.TimeFormat = None,
    json: Json = None,
) -> None:
    """Say what a release is still worth to a recommender, and what it gives away.

    Example: `recveil evaluate --train train.csv --test test.csv --release out`
    """
    from recveil.cli.show import describe, show_read, write_json
    from recveil.evaluate import evaluate

    if release is None:
        raise typer.BadParameter("expected --release DIR, the folder of a release")
    _check_ground(source, train, test, split)
    _check_json(json, [source, train, test], release)
    result = evaluate(
        release,
        source,
        train=train,
        test=test,
        split=split,
        null_rule=null_rule,
        targets=targets,
        seed=seed,
        with_membership=membership,
        format=format,
        scale=options.parse_scale(scale),
        duplicates=duplicates,
        drop_off_scale=drop_off_scale,
        user=user,
        item=item,
        rating=rating,
        time=time,
        time_format=time_format,
    )
    plain = {"data": describe(result.train), **result.to_json()}
    if write_json(plain, json):
        for reading in result.readings:
            show_read(reading)
        _show(plain)


def _check_ground(
    source: Path | None, train: Path | None, test: Path | None, split: float | None
) -> None:
    """Refuse files that leave open what is held out."""
    given = {"SOURCE": source, "--split": split, "--train": train, "--test": test}
    names = {name for name, value in given.items() if value is not None}
    if names not in ({"SOURCE", "--split"}, {"--train", "--test"}):
        raise typer.BadParameter(
            f"expected --train FILE and --test FILE, or SOURCE and --split SHARE; got "
            f"{', '.join(sorted(names)) or 'none of them'}"
        )


def _check_json(json: Path | None, inputs: list[Path | None], release: Path) -> None:
    """Refuse to write over an input, or what private ratings tell into the published folder."""
    if json is None or str(json) == "-":
        return
    for source in inputs:
        if source is not None:
            options.refuse_source_as_json(json, source)
    if release.resolve() in json.resolve().parents:
        raise typer.BadParameter(f"--json {json} would stand in the release; name another place")


def _show(plain: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from recveil.cli.headline import headline

    console = Console()
    _say_ground(console, plain)
    console.print(f"[bold]{escape(headline(plain))}[/]")
    _show_recipient(console, plain)
    _show_deviations(console, plain)
    _show_fidelity(console, plain)
    _show_disclosure(console, plain["disclosure"])
    _show_notes(console, plain)


def _say_ground(console: "Console", plain: dict[str, Any]) -> None:
    """Say which release is judged, and by what."""
    from rich.markup import escape

    name = escape(plain["release"])
    if plain["made_anew"]:
        console.print(
            f"{plain['split']:.0%} of everybody's ratings were held out. {name} may have seen "
            f"them, so another release was made of the rest with its settings; it is this one that "
            f"is judged, not {name} itself."
        )
    left_out = plain["left_out"] or {}
    if left_out.get("unknown_cells"):
        console.print(
            f"Left out: {left_out['unknown_cells']:,} test ratings of users "
            f"({left_out['unknown_users']:,}) or items ({left_out['unknown_items']:,}) without "
            f"training ratings."
        )
    if left_out.get("also_in_training"):
        console.print(
            f"Left out: {left_out['also_in_training']:,} test ratings that stand among the "
            f"training ratings, too."
        )


def _show_recipient(console: "Console", plain: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from recveil.cli.headline import say_best

    told = plain["recipient"]
    table = Table()
    table.add_column("recommender", min_width=14)  # with the others, that fits into 80 columns
    for measure in ("RMSE", "nDCG", "recall"):
        table.add_column(f"{measure}\nraw", no_wrap=True)
        table.add_column("\nrelease", no_wrap=True)
    for name, sides in told["recommenders"].items():
        takers = [side for side in ("raw", "release") if name == told[side]["recommender"]]
        chosen = "both" if len(takers) > 1 else "".join(takers)
        measures = [
            _number(sides[side][measure])
            for measure in ("rmse", "ndcg@10", "recall@10")
            for side in ("raw", "release")
        ]
        table.add_row(f"{name} [dim]({chosen})[/]" if chosen else name, *measures)
    console.print(table)
    console.print(escape(say_best(told)))
    order = plain["carry_over"]
    console.print(
        f"{plain['served']:,} people were served from their own training ratings and judged by "
        f"{plain['test_cells']:,} held-out ones; nDCG and recall are of lists of ten. In brackets: "
        f"which side would take it to predict ratings. Intervals are about the people judged, "
        f"on this one split. The order "
        f"of recommenders agrees with that on the raw ratings by Kendall's tau of "
        f"{_number(order['tau_rmse'], 2)} by RMSE and {_number(order['tau_ndcg'], 2)} by nDCG."
    )
    if told["absent"] is not None:
        sides = told["absent"]
        console.print(
            f"{plain['absent']:,} of them are not in the release: RMSE "
            f"{_number(sides['raw']['rmse'])} with the raw ratings, "
            f"{_number(sides['release']['rmse'])} with the release."
        )


def _show_deviations(console: "Console", plain: dict[str, Any]) -> None:
    from rich.table import Table

    target, similar = plain["target_deviation"], plain["similar_user_deviation"]
    if target is None:
        return
    table = Table("held-out ratings against", "RMSE of labels\npresent", "share\nabsent")
    table.add_column(f"RMSE, absent by\nrule “{target['null_rule']}”")
    table.add_column("MAE so")
    for name, found in (("one's own row", target), ("the most similar row", similar)):
        present, absent = _number(found["rmse_present"]), _share(found["null_share"])
        table.add_row(name, present, absent, _number(found["rmse"]), _number(found["mae"]))
    console.print(table)
    console.print(
        f"Where a row has no label, the rule “{target['null_rule']}” says what counts: the figures "
        f"by the rule tell more of it than of the labels if many are absent. "
        f"{_share(plain['filled_share'])} of the held-out cells were filled in the release, or "
        f"carry what others said; none of that counts as truth. "
        f"{_share(plain['self_rank_first'])} of the people find no row more similar to themselves "
        f"than their own if what a row lacks counts as opposite, and "
        f"{_share(plain['self_rank_common_first'])} on common items alone."
    )


_FIDELITY = {
    "popularity_correlation": "popularity of items (rank correlation)",
    "popularity_divergence": "popularity of items (Jensen-Shannon, bits)",
    "rated_share_error": "“what share of users rated this?” (mean error)",
    "rating_distance": "histogram of ratings (total variation)",
    "activity_distance": "ratings of each person (Kolmogorov-Smirnov)",
    "density_raw": "density of the raw ratings",
    "density_release": "density of the release",
    "item_mean_rmse": "item means (RMSE)",
    "item_mean_correlation": "item means (correlation)",
    "similarity_correlation": "item-item similarity (correlation)",
}


def _show_fidelity(console: "Console", plain: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table("the release against the raw ratings", "")
    for name, words in _FIDELITY.items():
        table.add_row(words, _number(plain["fidelity"][name]))
    console.print(table)


def _show_disclosure(console: "Console", disclosure: dict[str, Any] | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    if disclosure is None:
        return
    names = disclosure["columns"]
    rates = (names["group_found"], names["person_found"], names["bound"])
    table = Table("adversary", "looked for", *rates)
    for attack in disclosure["attacks"]:
        table.add_row(
            escape(attack["name"]),
            f"{attack['targets_attacked']:,} of {attack['targets_requested']:,}",
            _share(attack["group_found"]["rate"]),
            _share(attack["person_found"]["rate"]),
            _share(attack["bound"]),
        )
    console.print(table)
    for sentence in disclosure["verdict"]:
        console.print(escape(sentence))
    if disclosure["links"] is not None:
        links = disclosure["links"]
        console.print(
            f"That an item stands in a row makes it {_number(links['mean'], 2)} probable on "
            f"average, and {_number(links['highest'], 2)} at most, that a given member rated it, "
            f"if people rate independently of each other."
        )


def _show_notes(console: "Console", plain: dict[str, Any]) -> None:
    from rich.markup import escape

    said = plain["disclosure"]["verdict"] if plain["disclosure"] else []
    for note in plain["notes"]:
        if note not in said:
            console.print(f"[yellow]note[/]  {escape(note)}")


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
