"""Summary of an evaluation in sentences."""

from typing import Any

from recveil.evaluation.bootstrap import TOO_SMALL

_LOW_HIGH = "low", "high"
_FAR = 1.1  # report the best recommender if it exceeds the chosen one by this factor


def headline(plain: dict[str, Any]) -> str:
    """Summarize the utility of the release: lists and ratings, by the chosen recommenders."""
    told = plain["recipient"]
    if what_of(told) == "words":
        return f"{_words(told)} {'' if plain['liked'] is None else _lists(told)}".rstrip()
    if not predicts(told):
        return _lists(told).rstrip()
    chosen, averages = told["chosen"], told["averages"]
    raw, release = chosen["raw"], chosen["release"]
    return (
        f"{_lists(told)}{_ratings(told)} RMSE: {_number(raw['rmse'])} with the raw ratings "
        f"({raw['recommender']}), {_number(release['rmse'])} with the release "
        f"({release['recommender']}), {_number(averages['rmse'])} with {averages['recommender']}."
    )


def predicts(told: dict[str, Any]) -> bool:
    """Return whether ratings were predicted; likes have none."""
    return told["averages"]["rmse"] is not None


def what_of(told: dict[str, Any]) -> str:
    """Return the kind of feedback: ratings, likes, or nominal labels."""
    if "tellers" in told:
        return "words"
    return "ratings" if predicts(told) else "likes"


def _words(told: dict[str, Any]) -> str:
    """Describe the share of words predicted correctly, and the retained gain."""
    raw, release, floor = (told[side] for side in ("raw", "release", "averages"))
    gain, share = told["raw_gain"], told["kept"]["chosen"]["ratings"]
    high = told["release_gain"]["high"]
    figures = (
        f"{raw['right']:.1%} with the raw words ({raw['recommender']}), {release['right']:.1%} "
        f"with the release ({release['recommender']}), {floor['right']:.1%} with each item's "
        f"commonest word, which takes no release."
    )
    if high is not None and high < 0:
        kept = "The release tells fewer words rightly than each item's commonest word does"
    elif not gain["is_told"]:
        kept = (
            f"What raw words gain over each item's commonest word cannot be told, since "
            f"{gain['why_not_told']}"
        )
    elif not share["is_told"]:
        kept = f"What the release keeps of the gain in words told rightly is not told{_ends(share)}"
    else:
        kept = f"The release {_kept(share, 'of the gain in words told rightly')}"
    return f"{kept}: {figures}"


def _lists(told: dict[str, Any]) -> str:
    """Describe the retained quality of lists."""
    raw, release = told["best"]["raw"], told["chosen"]["release"]
    what = what_of(told)
    numbers = (
        f"{_number(raw['ndcg@10'])} with the raw {what} ({raw['ranker']}, the best), "
        f"{_number(release['ndcg@10'])} with the release ({release['ranker']}{_missed(told)})."
    )
    if raw["ndcg@10"] is None or release["ndcg@10"] is None:
        return (
            f"Lists cannot be told: either nothing relevant is held out, or a recommender tells no "
            f"items apart. nDCG: {numbers} "
        )
    whole = told["raw_lists"]
    if whole["why_not_told"] == TOO_SMALL:
        return f"The raw {what}' lists are too poor to tell a share of their nDCG: {numbers} "
    if not whole["is_told"]:
        return f"Lists cannot be told: of their nDCG, {whole['why_not_told']}. nDCG: {numbers} "
    share = told["kept"]["chosen"]["lists"]
    if not share["is_told"]:
        return f"The share of the nDCG of lists that is kept is not told{_ends(share)}: {numbers} "
    return f"The release {_kept(share, 'of the nDCG of lists of ten')}: {numbers} {_gain(told)}"


def _missed(told: dict[str, Any]) -> str:
    """Describe the best recommender where the chosen one is far below it."""
    chosen, best = told["chosen"]["release"], told["best"]["release"]
    if not chosen["ndcg@10"] or best["ndcg@10"] < _FAR * chosen["ndcg@10"]:
        return ""
    could = f"{best['ranker']}, the best, gives {_number(best['ndcg@10'])}"
    return f", which a recipient would choose; {could}"


def _gain(told: dict[str, Any]) -> str:
    """Describe what popular items alone achieve, and the gain above them."""
    share, alone = told["kept"]["chosen"]["lists_gain"], told["popularity"]["ndcg@10"]
    words = f"Popular items alone, the same for everybody, give {_number(alone)}"
    high = share["high"]
    if share["value"] is None or not share["is_told"]:
        return f"{words}. "
    if share["value"] <= 0:
        how = "worse" if high is not None and high < 0 else "not told to be better"
        return f"{words}: the release's lists are {how}. "
    if share["value"] >= 1:
        return f"{words}; from there, all of the gain is left. "
    return f"{words}; from there, {share['value']:.1%} of the gain is left{_ends(share)}. "


def _ratings(told: dict[str, Any]) -> str:
    """Describe the retained gain in predicted ratings."""
    gain, share = told["raw_gain"], told["kept"]["chosen"]["ratings"]
    high = told["release_gain"]["high"]
    worse = "For predicted ratings, the release is worth less than averages of the raw ratings"
    is_worse = high is not None and high < 0
    if not gain["is_told"] or share["value"] is None:
        why = gain["why_not_told"]
        small = "the gain of the raw table itself is too small to tell a share of it"
        cannot = f"a share of the raw table's gain cannot be told, since {why}"
        return (
            f"{f'{worse}. ' if is_worse else ''}For predicted ratings, "
            f"{small if why == TOO_SMALL else cannot}: {_number(gain['value'])} in RMSE "
            f"({_number(gain['low'])} to {_number(gain['high'])})."
        )
    of_gain = "of the gain of collaborative filtering"
    left = (
        f": {share['value']:.1%} {of_gain}{_ends(share)}"
        if share["is_told"]
        else f"; what share {of_gain} is left is not told{_ends(share)}"
    )
    if is_worse:
        return f"{worse}{left}."
    words = f"{of_gain} in predicted ratings"
    if share["value"] <= 0:
        same = "For predicted ratings, the release is not told from averages of the raw ratings"
        return f"{same}{left}."
    if not share["is_told"]:
        return f"What the release keeps {words} is not told{_ends(share)}."
    return f"The release {_kept(share, words)}."


def _ends(share: dict[str, Any]) -> str:
    """Write an interval, if there is one."""
    if share["low"] is None or share["low"] == share["high"]:
        return ""
    low, high = ("as good as raw" if share[end] >= 1 else f"{share[end]:.1%}" for end in _LOW_HIGH)
    return f" ({low} to {high})"


def _kept(share: dict[str, Any], of: str) -> str:
    """Format a share with its interval, at most 100 % of raw."""
    value, low, high = (share[name] for name in ("value", "low", "high"))
    told = f"keeps {value:.1%} {of}" if value < 1 else f"is as good as raw in what it keeps {of}"
    if low is None or low == high:
        return told
    ends = ["as good as raw" if end >= 1 else f"{end:.1%}" for end in (low, high)]
    return f"{told} ({ends[0]})" if low >= 1 else f"{told} ({ends[0]} to {ends[1]})"


def describe_best(told: dict[str, Any]) -> str:
    """Describe the best of all recommenders next to the chosen ones."""
    best, kept = told["best"], told["kept"]["best"]
    shares = {
        name: kept[name]["value"] if kept[name]["is_told"] else None
        for name in ("ratings", "lists")
    }
    words = {
        name: "–" if share is None else "as good as raw" if share >= 1 else f"{share:.1%} kept"
        for name, share in shares.items()
    }
    sides = best["raw"], best["release"]
    errors, gains = (
        [f"{_number(side[measure])} ({side[who]})" for side in sides]
        for measure, who in (("rmse", "recommender"), ("ndcg@10", "ranker"))
    )
    if not predicts(told):
        return (
            f"The best lists of those run, which nobody could know beforehand: nDCG {gains[0]} "
            f"with the raw likes, {gains[1]} with the release ({words['lists']})."
        )
    return (
        f"All shares above are of the recommenders that a recipient would choose. The best of "
        f"those run, which nobody could know beforehand: RMSE {errors[0]} with the raw ratings, "
        f"{errors[1]} with the release ({words['ratings']}); nDCG {gains[0]} and {gains[1]} "
        f"({words['lists']})."
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
