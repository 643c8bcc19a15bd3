"""Sentences and documents of erasures."""

from collections.abc import Iterator

from recveil.io.ingestion import REASONS
from recveil.io.options import format_command
from recveil.methods import Erasure, Trace
from recveil.ratings.ratings import in_likes
from recveil.release.claim import of_large_delta, of_large_epsilon
from recveil.release.manifest import ITEM_TABLE, Manifest, private_folder
from recveil.release.method import SAMPLED_FROM
from recveil.release.records import hides_items
from recveil.report.document import parts_of
from recveil.report.terminal import echo
from recveil.runtime.errors import WARNING, describe_count, listed, printable, quoted


@parts_of.register
def _(result: Erasure) -> dict[str, object]:
    return {
        "decision": result.decision,
        "known": result.is_known,
        "releases": result.traces,
        "candidates": result.n_candidates,
        "bounds": result.bounds or None,
        "privacy_total": result.total and result.total.to_dict(),
        "missing_releases": result.n_missing,
        "other_releases": list(map(str, result.others)),
        "unknown_releases": result.n_unknown,
        "searched_in": str(result.newest.folder.parent),
        "next_command": next_command(result),
        "rows_not_read": result.n_unread,
        "output": result.cleaned and str(result.cleaned),
        "log": str(result.log),
    }


@parts_of.register
def _(trace: Trace) -> dict[str, object]:
    return {**trace.finding, "record_ids": list(trace.record_ids)}


# Options whose numbers the settings of a release state
_NUMBERS = "cluster_size", "diversity", "closeness", "padding", "neighbours"


def next_command(result: Erasure) -> str | None:
    """Return the command for the next release; None if none is needed."""
    manifest, folder = result.newest.manifest, str(result.newest.folder)
    method = manifest.known_method
    is_continued = result.decision == "row-kept"
    is_replaced = result.decision == "replace" and not manifest.claim.about.is_differential
    if method is None or not (is_continued or is_replaced):
        return None
    scale, settings, claim = manifest.scale, manifest.settings, manifest.claim
    chosen = {
        option.name: settings[option.name]
        for option in method.options
        if settings.get(option.name, option.default) != option.default
        and settings[option.name] in option.choices
    }
    options: dict[str, object] = {
        "output": "NEXT" if is_continued else folder,
        **({"k": claim.k} if manifest.contains_users else {method.selector: "none"}),
        "method": None if is_continued else method.name,
        **chosen,
        **{name: settings.get(name) for name in _NUMBERS},
        **{each: n for each, n in (("b", claim.b), ("l", claim.l)) if n > 1},
        "hide_items": hides_items(settings),
        "scale": None if scale.unary or scale.labels else str(scale),
        "previous": str(private_folder(result.newest.folder)) if is_continued else None,
        "force": not is_continued,
        "allow_sparse_coverage": result.is_sparse,
        "layout": manifest.layout,
        "file_format": "csv" if "ratings.csv" in manifest.files else None,
        "item_table": "ITEMS" if ITEM_TABLE in manifest.files else None,
        **_options_of_attributes(manifest),
    }
    table = "CLEANED" if result.cleaned is None else str(result.cleaned)
    return format_command("anonymize", table, options=options)


def _options_of_attributes(manifest: Manifest) -> dict[str, object]:
    """Return the options that publish the same attributes of users again."""
    about = manifest.user_columns
    if about is None:
        return {}
    limit = {"sensitive_attribute": about.sensitive, "attribute_l": about.l}
    return {"users": "USERS", "attribute": about.shared, **(limit if about.sensitive else {})}


def describe_erasure(result: Erasure) -> list[str]:
    """Return what a publisher should know and do about an erasure, in sentences."""
    described = [_describe_trace(trace) for trace in result.traces if trace.status != "absent"]
    described += _DECISIONS[result.decision](result)
    if result.total is not None:
        described += result.total.sentences()
    if result.n_unread:
        reasons = "; ".join(REASONS[why] for why in result.unread_reasons)
        described.append(
            f"The table has {describe_count(result.n_unread, 'row')} of this user that "
            f"{'was' if result.n_unread == 1 else 'were'} not read ({reasons})."
        )
    if result.n_missing:
        described.append(
            f"{describe_count(result.n_missing, 'earlier release')} of the series was not "
            f"examined, as it or its private folder is not next to {result.newest.folder.name}."
        )
    described.append(
        f"Searched {result.newest.folder.parent} for other releases with this user: "
        f"{len(result.others) or 'none'} found. Search other folders, too."
    )
    if result.cleaned is not None:
        described.append(
            f"Wrote {result.cleaned}: the table without their rows, with only the columns "
            f"read, and dates without times. Delete the rows from the original, too."
        )
    elif result.decision != "replace" and result.is_known:
        described.append("Delete their rows from the table before the next release.")
    if any(trace.manifest.user_columns for trace in result.traces):
        described.append("Delete their line from the file of users and attributes (--users), too.")
    if command := next_command(result):
        if ITEM_TABLE in result.newest.manifest.files:
            described.append("ITEMS is the file of public columns of items.")
        if result.newest.manifest.user_columns:
            described.append("USERS is the file of users without this user's line.")
        described.append(f"Next: {command}")
    return [*described, f"Recorded in {result.log}, which is private."]


def warnings_of_erasure(result: Erasure) -> list[str]:
    """Return warnings about what else may have data of the user, and about weak promises."""
    found, claim = [], result.newest.manifest.claim
    if result.others:
        names = listed([each.name for each in result.others], 100)
        found.append(f"Other releases have this user, too: {names}. Do the same for each.")
    if result.n_unknown:
        found.append(
            f"{describe_count(result.n_unknown, 'other release')} was replaced or cannot be read: "
            f"whether it has this user is unknown."
        )
    n_others = result.newest.n_others
    if result.decision == "row-kept" and n_others is not None and n_others < claim.k:
        found.append(
            f"{describe_count(n_others, 'other user')} of the class would remain in the table: an "
            f"adversary who knows who left has fewer than {claim.k} candidates for each."
        )
    if claim.epsilon is not None and (text := of_large_epsilon(claim.epsilon)):
        found.append(text)
    if claim.delta is not None and claim.delta * result.newest.manifest.counts.get("users", 0) > 1:
        found.append(of_large_delta(claim.delta))
    return found


def show_erasure(result: Erasure) -> None:
    """Print what releases have of a user, and what to do."""
    for sentence in result.sentences():
        echo(printable(sentence))
    for warning in result.warnings():
        echo(f"{WARNING}{printable(warning)}", err=True)


def _describe_trace(trace: Trace) -> str:
    name = quoted(trace.folder.name)
    if trace.class_size is None:
        learned = "ratings and attributes" if trace.manifest.user_columns else "ratings"
        text = f"{name} was learned from their {learned}; no record of it belongs to a user."
        return in_likes(text, trace.manifest.scale.unary)
    shared = trace.manifest.claim.about.shared
    kept = " (kept since they left)" if trace.status == "row-kept" else ""
    text = (
        f"{name} has their row {', '.join(trace.record_ids)}{kept}: "
        f"{describe_count(trace.class_size, 'user has', 'users have')} the same {shared}."
    )
    if trace.attributes:
        shared = ", ".join(f"{name} {value}" for name, value in trace.attributes.items())
        text += f" All of them have {shared} in users.csv."
    if trace.shows:
        text += f" One {trace.shows} of the class (users.csv) is this user's."
    exact = trace.exact
    if exact is None:
        return text
    other = "; it was made from another table" if exact.same_ratings is False else ""
    if trace.manifest.scale.unary:
        return f"{text} It has {exact.n_exact:,} of their {exact.n_ratings:,} likes{other}."
    near = f", {exact.n_near:,} to within the rounding" * (exact.n_near > exact.n_exact)
    return (
        f"{text} It has {exact.n_exact:,} of their {describe_count(exact.n_ratings, 'rating')} "
        f"with the same value{near}{other}."
    )


def _of_kept(result: Erasure) -> Iterator[str]:
    k, settings = result.newest.manifest.claim.k, result.newest.manifest.settings
    yield (
        f"The row stays published: in all examined releases together, "
        f"{describe_count(result.n_candidates or 0, 'user')} have the same rows ({k} required), "
        f"and without it the class would have fewer rows than before, which reveals that one of "
        f"its users was erased. Each item and value comes from at least "
        f"{settings['cluster_size']:,} users, as the publisher states. The next "
        f"release makes the row from the users who are there."
    )
    if any(trace.attributes or trace.shows for trace in result.traces):
        yield (
            "The row keeps its attributes, and the class its sensitive values, one of which may be "
            "this user's: a change would reveal which."
        )
    yield (
        "Nothing bounds membership inference. The private folders keep the id as long as the "
        "series goes on: if the user came back as a newcomer, two rows would single them out."
    )


def _of_synthetic(result: Erasure) -> Iterator[str]:
    claim, bounds = result.newest.manifest.claim, result.bounds
    yield (
        f"Nothing has to be withdrawn: with epsilon {claim.epsilon:.4g} and delta "
        f"{claim.delta:.4g}, each output is nearly as likely without this user. The best test "
        f"whether they were in the data has an AUC of at most {bounds['most_auc']:.3f}, and "
        f"recognizes members at a false-positive rate of 5% with a probability of at most "
        f"{bounds['most_recognized']:.3f}."
    )
    if result.newest.manifest.settings.get("item_catalog") == "rated items":
        text = "The list of items is outside this bound: one that only this user rated stays in it."
        yield in_likes(text, result.newest.manifest.scale.unary)
    yield (
        "The privacy loss remains: what was published remains published. This bound is of one "
        "release; those of several releases of the same users add up."
    )


def _of_replaced(result: Erasure) -> Iterator[str]:
    name, claim = quoted(result.newest.folder.name), result.newest.manifest.claim
    if claim.epsilon is not None:
        model = ", and its model" * (SAMPLED_FROM in result.newest.manifest.settings)
        yield (
            f"{name} has to be replaced{model}: epsilon {claim.epsilon:.4g} promises too little. "
            f"Make it again with a smaller epsilon (--epsilon); recipients should delete the old "
            f"release."
        )
        return
    yield (
        f"{name} has to be replaced: its values may come from few users, or no bound is proven. "
        f"Recipients should delete the old release, since an adversary with both can intersect a "
        f"user's groups. Add the other options of the old release."
    )


def _of_unpublished(result: Erasure) -> Iterator[str]:
    name = quoted(result.newest.folder.name)
    if not result.is_known:
        yield (
            f"In no release; logged: neither {name} nor a release that it follows has a user with "
            f"this id, nor has a table that was given. Check it for a typo."
        )
        if result.newest.manifest.contains_users and result.log.parent == result.private:
            yield "With previous (--previous), a later table with it is rejected."
        return
    yield (
        f"No examined release has a row of this user: they joined after {name} was made, or it "
        f"left them out."
    )


_DECISIONS = {
    "row-kept": _of_kept,
    "nothing-to-withdraw": _of_synthetic,
    "replace": _of_replaced,
    "not-published": _of_unpublished,
}
