"""What became of a table that was made into a release, printed for people."""

from pathlib import Path

from recveil.cli.explanations import explain
from recveil.cli.options import echo
from recveil.cli.show import describe_alone, show_read, show_verification, words_of
from recveil.methods import Anonymized
from recveil.methods.registry import describe_to_publisher
from recveil.release.manifest import twin_name
from recveil.verification.other_files import describe_formulas


def show_release(made: Anonymized, output: Path, *, is_explained: bool = False) -> None:
    """Print the verdict, what the release shows all the same, and what to do with it."""
    release, verification = made.release, made.verification
    show_read(made.reading)
    show_verification(verification, str(output))
    for sentence in describe_to_publisher(release, made.ratings):
        echo(sentence)
    for sentence in describe_formulas(release.published.items):
        echo(sentence)
    if verification.has_levels:
        echo(
            f"{describe_alone(verification.alone)}, with privacy level 1: the ratings of whoever "
            f"stands alone are published as they are."
        )
    what = "likes" if made.ratings.is_unary else "ratings"
    tells = "who is who" if verification.contains_users else f"whose {what} it was drawn from"
    describe_what_to_publish(output, tells, is_first=not made.earlier)
    if is_explained:
        explain(words_of(verification))


def describe_what_to_publish(output: Path, tells: str, *, is_first: bool) -> None:
    """Say what is to be published, what is not, and what the private twin tells."""
    alone = "" if is_first else ", and none of the earlier releases of these people"
    echo(f"Publish {output}{alone}; keep {twin_name(str(output))} secret, it tells {tells}.")
