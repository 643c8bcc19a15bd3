"""What became of a table that was made into a release, printed for people."""

from pathlib import Path

import typer

from recveil.anonymize import Anonymized, Release
from recveil.attack.stronger import PADDED
from recveil.cli.show import show_read, show_verification, tell_alone


def show_release(made: Anonymized, output: Path) -> None:
    """Print the verdict, what the release shows all the same, and what to do with it."""
    release, verification = made.release, made.verification
    show_read(made.reading)
    show_verification(verification, str(output))
    _tell_as_given(release)
    if "filled_cells" in release.private.settings:
        _tell_filled(release, made.ratings.n_ratings)
    _tell_diversity(release)
    if verification.has_levels:
        typer.echo(
            f"{tell_alone(verification.alone)}, with privacy level 1: the ratings of whoever "
            f"stands alone are published as they are."
        )
    typer.echo(f"Publish {output}; keep {output}.private secret, it tells who is who.")


def _tell_diversity(release: Release) -> None:
    """Say how many labels diversity added, and what that does to the items' means."""
    if cost := release.private.diversity_cost:
        typer.echo(
            f"Diversity added {cost.added:,} labels to {cost.labels:,}, on average "
            f"{cost.harm:.2f} points off their item's mean; RMSE of the items' means before "
            f"and after: {cost.rmse_before:.4f}, {cost.rmse_after:.4f}."
            + ("" if cost.pruned else " The table is too large to take back needless ones.")
        )


def _tell_as_given(release: Release) -> None:
    """Say how many ratings the rows show, and what can be worked out where they show few."""
    given = release.private.lone_ratings
    if given is not None:
        typer.echo(
            f"Published as they are: {given.exact_share:.1%} of the ratings. "
            f"{given.rating_share:.1%}, from {given.user_share:.1%} of the people, because nobody "
            f"else in the group rated the item; the others because all who rated it agree, or "
            f"their rounded mean is the rating. With a larger k they are fewer."
        )
        if given.label_share is not None:
            typer.echo(
                f"Whoever takes a label that is a value of the scale for the rating of everybody "
                f"in the group who rated the item is right in {given.label_share:.1%} of cases."
            )
    if release.published.settings.get("homogenize") == "padded":
        typer.echo(PADDED)


def _tell_filled(release: Release, n_ratings: int) -> None:
    """Say what was filled in beside real ratings, and what that does not do."""
    private, public = release.private.settings, release.published.settings
    # Of what somebody who knows ratings can do, the verdict above has warned already.
    stay = (
        ", which stand as they are: to find a person by them is nearly as easy as before"
        if public["protect"] == "none"
        else ""
    )
    typer.echo(
        f"Filled {private['filled_cells']:,} cells ({private['filled_cells'] / n_ratings:.1f} for "
        f"each rating) beside {n_ratings:,} real ratings{stay}."
    )
    if trust := private.get("trust"):
        typer.echo(
            f"Trust: {trust['statements']:,} times somebody says that they trust another one; "
            f"{trust['ignored_lines']:,} lines about {trust['unknown_users']:,} people without "
            f"ratings were passed over."
        )
    if public["protect"] == "shuffle":
        typer.echo(
            "The labels of each item were dealt anew within the groups. That is your word: no "
            "file can prove it. Where all of a group gave the same rating, it is known, and where "
            "fills can be worked out, as item means can, a real one stands out in its group."
        )
    if not public["round_fills"]:
        why = (
            "" if release.published.scale.step else f", as {release.published.scale} is continuous"
        )
        typer.echo(
            f"Warning: fills are not rounded to the scale{why}. They show which ratings are real."
        )
