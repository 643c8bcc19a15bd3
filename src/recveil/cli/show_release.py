"""What became of a table that was made into a release, printed for people."""

from pathlib import Path

from recveil.anonymize import Anonymized
from recveil.anonymize.methods import tell_owner
from recveil.cli.meanings import explain
from recveil.cli.sentences import tell
from recveil.cli.show import show_read, show_verification, tell_alone, words_of
from recveil.release.manifest import twin_name
from recveil.verify.item_formulas import formulas_told


def show_release(made: Anonymized, output: Path, *, is_explained: bool = False) -> None:
    """Print the verdict, what the release shows all the same, and what to do with it."""
    release, verification = made.release, made.verification
    show_read(made.reading)
    show_verification(verification, str(output))
    for sentence in tell_owner(release, made.ratings):
        tell(sentence)
    for sentence in formulas_told(release.published.items):
        tell(sentence)
    if verification.has_levels:
        tell(
            f"{tell_alone(verification.alone)}, with privacy level 1: the ratings of whoever "
            f"stands alone are published as they are."
        )
    what = "likes" if made.ratings.is_unary else "ratings"
    tells = "who is who" if verification.holds_people else f"whose {what} it was drawn from"
    tell_what_to_publish(output, tells, is_first=not made.earlier)
    if is_explained:
        explain(words_of(verification))


def tell_what_to_publish(output: Path, tells: str, *, is_first: bool) -> None:
    """Say what is to be published, what is not, and what the private twin tells."""
    alone = "" if is_first else ", and none of the earlier releases of these people"
    tell(f"Publish {output}{alone}; keep {twin_name(str(output))} secret, it tells {tells}.")
