"""The table, the sentences and the JSON of attribute inference."""

from collections.abc import Iterator, Mapping

from recveil.attacks.statistics import FEWEST
from recveil.auditing import AttributeInference, Audit
from recveil.auditing.attribute_inference import FEWEST_OF_CLASS, OTHER, AttributeInRelease
from recveil.auditing.release_attacks import AttackedRelease
from recveil.ratings.ratings import in_likes
from recveil.report.document import fields_of, parts_of
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import estimate, percent
from recveil.runtime.safe_repr import Grid

_HEAD = ("attribute", "from", "AUC", "control", "accuracy", "constant guess")


def and_attributes(release: AttackedRelease) -> str:
    """Format the attributes that adversaries know in addition; empty if they know none."""
    return "".join(f" and {name!r}" for name in release.known_attributes)


def attribute_table(audit: Audit) -> Grid | None:
    """Return the figures of attribute inference; None if no attribute was named."""
    if not audit.attribute_inference:
        return None
    rows = [row for each in audit.attribute_inference for row in _rows(each)]
    is_unary = audit.ratings.is_unary
    likes = [(row[0], in_likes(row[1], is_unary), *row[2:]) for row in rows]
    return Grid("Attribute inference", _HEAD, likes)


def _rows(inferred: AttributeInference) -> Iterator[tuple[str, ...]]:
    name, guess = inferred.attribute, percent(inferred.majority)
    for each in inferred.predictions:
        areas = (estimate(area, 2) for area in (each.auc, each.control))
        yield name, f"all ratings, {each.learner}", *areas, estimate(each.accuracy), guess
    if (found := inferred.in_release) is not None:
        known = _knowledge_of(found)
        yield name, known, estimate(found.by_known, 2), "", "", ""
        yield name, f"{known} and a row of {found.name}", estimate(found.by_row, 2), "", "", ""
        yield name, "what the row adds", estimate(found.adds, 2), estimate(found.control, 2), "", ""
        if found.excess is not None and found.nonmembers is not None:
            excess, nonmembers = (estimate(each, 2) for each in (found.excess, found.nonmembers))
            yield name, "more for members than nonmembers", excess, nonmembers, "", ""


def _knowledge_of(found: AttributeInRelease) -> str:
    ratings = describe_count(found.known, "known rating")
    return ", ".join([ratings, *(f"{name!r}" for name in found.known_attributes)])


def describe_attributes(audit: Audit) -> list[str]:
    """Describe how well each attribute is inferred, and from which users."""
    sentences = [each for one in audit.attribute_inference for each in _sentences(one)]
    sentences += [
        f"{name}: nearly every user has a value of their own, which identifies them; whether "
        f"ratings reveal it was not measured."
        for name in audit.identifying_attributes
    ]
    return [in_likes(sentence, audit.ratings.is_unary) for sentence in sentences]


def _sentences(inferred: AttributeInference) -> Iterator[str]:
    name, best = inferred.attribute, inferred.strongest
    is_found = best.auc.low > 0.5
    yield (
        f"{name}: an adversary who knows all ratings of a user, and the attribute of others, "
        f"infers it with AUC {estimate(best.auc, 2)} by {best.learner}; with permuted attributes "
        f"{estimate(best.control, 2)}."
        + ("" if is_found else " A random guess has 0.5; other learners may infer more.")
    )
    if (found := inferred.in_release) is not None:
        yield (
            f"{name}: the row of {found.name} that best fits "
            f"{_knowledge_of(found)} of a user adds "
            f"{estimate(found.adds, 2)} to their AUC {estimate(found.by_known, 2)}; a "
            f"random row of nearly as many items adds "
            f"{estimate(found.control, 2)} ({describe_count(found.n_targets, 'user')})."
        )
        if found.excess is not None and found.members is not None and found.nonmembers is not None:
            yield (
                f"{name}: such a release without a fifth of the users adds "
                f"{estimate(found.members, 2)} for members and {estimate(found.nonmembers, 2)} for "
                f"nonmembers, whom it does not contain; the difference of "
                f"{estimate(found.excess, 2)} is what being in it reveals."
            )
    elif inferred.unmeasured:
        yield f"{name}: what the release adds was not measured, because {inferred.unmeasured}."
    notes = []
    if (rarest := min(inferred.classes.values())) < FEWEST:
        notes.append(
            f"a value of only {rarest} users; with fewer than {FEWEST}, AUC is uncertain, and a "
            f"low one is no evidence of safety"
        )
    if inferred.is_cut:
        notes.append(f"cut at its quartiles: {', '.join(inferred.classes)}")
    if inferred.n_pooled:
        pooled = f"{describe_count(inferred.n_pooled, 'rare value')} put together"
        if n_users := inferred.classes.get(OTHER, 0):
            pooled += (
                f" as “{OTHER}” ({percent(n_users / inferred.n_users)} of the users), "
                f"without an AUC for each"
            )
        notes.append(pooled)
    if inferred.n_missing:
        few = inferred.n_missing < FEWEST_OF_CLASS
        left = f"fewer than {FEWEST_OF_CLASS} users" if few else f"{inferred.n_missing:,} users"
        notes.append(f"{left} left out")
    if notes:
        yield f"{name}: {'; '.join(notes)}."


@parts_of.register
def _(inferred: AttributeInference) -> Mapping[str, object]:
    is_few = 0 < inferred.n_missing < FEWEST_OF_CLASS
    return {**fields_of(inferred), "n_missing": None if is_few else inferred.n_missing}
