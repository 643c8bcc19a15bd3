"""The second checker, of release.json: which keys it has, of what kind, and how it is written.

What it may say is a closed list, typed here by hand after docs/reference/release-format.md: any
other key or word could say who a user is. It shares nothing with recveil.
"""

import itertools
import json
import math
import re
from datetime import date, timedelta

FORMATS = [f"recveil-release-{number}" for number in range(1, 12)]
KEYS = [
    *("format", "recveil", "claim", "k", "levels", "diversity", "layout", "item_type", "scale"),
    *("settings", "counts", "formulas", "previous", "item_table"),
    *("user_attributes", "files"),
]
COUNTS = ["users", "records", "labels", "items", "classes", "alone", "duplicates_dropped"]
VERSION = re.compile(
    r"[0-9]{1,3}([.][0-9]{1,3}){1,3}((a|b|rc)[0-9]{1,3})?([.](post|dev)[0-9]{1,3})*"
)
NUMBER = re.compile("[+-][0-9]+([.][0-9]+)?")
RUN_IN_CELL = re.compile("(^|[;|])\\s*'*[=+@\\-\uff1d\uff0b\uff0d\uff20]")
UNSHOWN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
NAME = re.compile(rf"(?!item_id\Z)\w[^\"{UNSHOWN}]{{0,39}}")
CLASS, OWN = re.compile("[A-Za-z_][A-Za-z0-9_]{0,39}"), ", with parameters of its own"
MOST = 10**15
# What was asked of users, and since which format.
QUERIES = [
    ("people by activity", "how many people have how many ratings", 3),
    ("labels", "people's shares of ratings at each label", 3),
    ("means of people", "people's mean ratings, and the squares of these", 3),
    (
        "item sums",
        "for each item, how much it was rated, and how its ratings differ from the mean",
        3,
    ),
    (
        "kinds of items",
        "people's shares of ratings on items with tastes, other told ones, and the rest",
        4,
    ),
    ("moments", "for each two items, how much people who like the one like the other", 3),
    (
        "ratings by taste",
        "for each direction of taste, whether people rate higher what they lean to, and whether "
        "half of their ratings agrees with the other half",
        5,
    ),
]
QUERY_OF_DATES = (
    "dates",
    "for each popular item, users' ratings by period; users by first period and by span; shares of "
    "their ratings in the first, other and last periods",
)
QUERY_OF_ATTRIBUTES = (
    "attributes",
    "for each value of each attribute, its users, their number of ratings and mean rating, and the "
    "directions of their choices and of their ratings",
)
# The same of likes, since the sixth.
QUERIES_OF_LIKES = [
    ("people by activity", "how many people have how many likes", 6),
    ("item sums", "for each item, how much it was liked", 6),
    (
        "kinds of items",
        "people's shares of likes on items with tastes, other told ones, and the rest",
        6,
    ),
    ("moments", "for each two items, how much people who like the one like the other", 6),
]


# The ninth format has other names and words for the same; these are hand-typed, too.
SETTINGS = {
    "cluster_size": "crowd",
    "items_below_k": "rare_items",
    "value_step": "label_step",
    "values": "labels",
    "values_below_k": "rare_labels",
    "feedback": "ratings",
    "item_catalog": "catalogue",
    "n_users": "people",
    "omitted_share": "pooled_share",
    "user_counts": "activity",
    "cutpoints": "cuts",
    "slopes": "tilts",
    "slope_spreads": "likings",
    "factors": "directions",
}
VALUES = {
    ("method", "synthetic users"): "synthetic people",
    ("method", "nominal labels"): "words by shares",
    ("items_below_k", "omitted"): "left out",
    ("values", "predicted"): "model",
    ("feedback", "implicit"): "likes",
    ("item_catalog", "rated items"): "as rated",
    ("item_catalog", "selected"): "chosen",
    ("n_users", "requested"): "asked for",
    ("trust", "inferred"): "worked out",
}
SCALED = {"labels": "words"}
COUNTED = {"values": "labels", "singletons": "alone"}
CLAIMED = {
    ("unit", "user"): "person",
    ("neighbours", "add or remove one user"): "add or remove one person",
}
ASKED = {
    ("users by user count", "the number of users by number of ratings"): QUERIES[0][:2],
    ("rating levels", "users' shares of ratings at each level"): QUERIES[1][:2],
    ("user means", "users' mean ratings and their squares"): QUERIES[2][:2],
    ("item sums", "for each item, its ratings and their deviations from the mean"): QUERIES[3][:2],
    (
        "item kinds",
        "users' shares of ratings on items with factors, on other published items, and on the rest",
    ): QUERIES[4][:2],
    (
        "moments",
        "for each pair of items, the product of users' vectors, centred by popularity",
    ): QUERIES[5][:2],
    ("moments", "for each pair of items, the product of users' vectors"): QUERIES[5][:2],
    (
        "ratings by factor",
        "for each factor, the slope of ratings along it, and the agreement of both halves of a "
        "user's ratings",
    ): QUERIES[6][:2],
    (
        "users by user count",
        "the number of users by number of interactions",
    ): QUERIES_OF_LIKES[0][:2],
    ("item sums", "for each item, its interactions"): QUERIES_OF_LIKES[1][:2],
    (
        "item kinds",
        "users' shares of interactions on items with factors, on other published items, and on "
        "the rest",
    ): QUERIES_OF_LIKES[2][:2],
    QUERY_OF_DATES: QUERY_OF_DATES,
    QUERY_OF_ATTRIBUTES: QUERY_OF_ATTRIBUTES,
}


def in_names_of_8(written):
    """A release from the ninth format on in the names of those before; old names are none there."""
    if written["format"] not in FORMATS[8:]:
        return written
    result = dict(written)
    result["settings"] = {
        SETTINGS.get(name, name + "?" * (name in SETTINGS.values())): word(VALUES, name, value)
        for name, value in written["settings"].items()
    }
    for part, names in (("scale", SCALED), ("counts", COUNTED)):
        result[part] = {
            names.get(name, name + "?" * (name in names.values())): value
            for name, value in written[part].items()
        }
    if isinstance(written["claim"], dict):
        result["claim"] = {
            name: word(CLAIMED, name, value) for name, value in written["claim"].items()
        }
        ledger = dict(written["claim"]["ledger"])
        ledger["queries"] = [
            query | dict(zip(("name", "what"), asked(query), strict=True))
            for query in ledger["queries"]
        ]
        result["claim"]["ledger"] = ledger
    return result


def word(known, name, value):
    """The word of before; a word of before is none in the ninth format."""
    old = [before for (of, _), before in known.items() if of == name]
    if not isinstance(value, str):
        return value
    return known.get((name, value), value + "?" * (value in old))


def asked(query):
    return ASKED.get((query["name"], query["what"]), (query["name"] + "?", query["what"]))


def one_of(*allowed):
    """Exactly one of these: True is not 1, and 1.0 is not either."""
    return lambda value, _: any(type(value) is type(one) and value == one for one in allowed)


def class_of(*own):
    """One of recveil's own, or the name of a third-party class."""
    return lambda value, _: (
        isinstance(value, str) and (value.removesuffix(OWN) in own or CLASS.fullmatch(value))
    )


def step(value, result):
    most = result["scale"]["high"] - result["scale"]["low"] or 1e12
    return type(value) is float and 0 < value <= most


def step_or_none(value, result):
    return value is None or step(value, result)


def step_or_tenth(value, result):
    scale = result["scale"]
    whole = (scale["high"] - scale["low"]) / 20 if scale["step"] is None else scale["step"]
    tenth = float(f"{whole / 10:.12g}") or 1.0
    if type(value) is not float:
        return value is None and scale["step"] is None
    return value in (tenth, scale["step"])


def cluster(value, result):
    """No more users than there are, which is counted elsewhere."""
    return type(value) is int and 20 <= value <= min(256, result["counts"]["users"])


def share(value, _):
    """At least a hundredth is of published items, and four decimals are stated."""
    return type(value) is float and 0 <= value <= 0.99 and round(value, 4) == value


def numbers(low, high, *, count=None, most=MOST, order=None):
    """A list of numbers with at most six decimals, in some order, between two others."""

    def right(value, result):
        wanted = count(result["scale"]) if callable(count) else count
        return (
            isinstance(value, list)
            and all(type(one) is float and low <= one <= high for one in value)
            and all(round(one, 6) == one for one in value)
            and len(value) <= most
            and wanted in (None, len(value))
            and (order is None or value == order(value))
        )

    return right


def cuts_of(scale):
    """One less than levels, of which there are at most 21."""
    steps = math.inf if scale["step"] is None else (scale["high"] - scale["low"]) / scale["step"]
    return round(min(steps, 20))


def rising(value):
    return sorted(set(value))


SPARK = ("ALS", "KGatherInBins")
PREDICTORS = ("FunkSVD", "PlainFunkSVD", "ItemMean", "UserKNN", "TrustKNN", SPARK[0])
GROUPINGS = (
    *("KGather", "BisectingKGather", "PredictiveGrouping", "BoundedTMeans", "MDAV", "KMember"),
    *("UnionSplit", "MHM", "RGather", "LevelGather", "BisectingOneKGather"),
)
BY_FILL = (
    *("gecom", "supports", "k-gather", "bisecting", "predictive", "bounded-t-means", "mdav"),
    *("k-member", "union-split", "mhm", "r-gather"),
)
FILLS = ("item-mean", "random", "funk-svd", "similarity", "trust")


def left_out(given):
    """What a release says of the items that fewer than k users rated; older ones say nothing."""
    return {"rare_items": one_of("left out")} if "rare_items" in given else {}


def neighbours(given, parts, number):
    """Some predictors and fills may state how many neighbours they have."""
    has = number == 9 and "neighbours" in given
    is_stated = has and {given.get("predictor"), given.get("fill")} & set(parts)
    return {"neighbours": one_of(*range(1, 10_001))} if is_stated else {}


def bound(given, number):
    """So many ratings of a user may count at most."""
    has = number == 9 and "max_ratings" in given
    return {"max_ratings": is_bound} if has else {}


def is_bound(most, result):
    """A number of ratings, of which two at least make a pair, and which no user exceeds."""
    is_one = type(most) is int and 2 <= most <= 100_000
    return is_one and max(result["settings"]["activity"]) <= most


def features(given, number):
    """Noisy sums may be read with public features of items."""
    has = number == 9 and "item_features" in given and given.get("noise") == "gaussian"
    return {"item_features": one_of("given")} if has else {}


def days_of(text):
    """The day of a date as ISO 8601 writes it; none for other text."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text else None


def is_cohort(value, _):
    """Two days around a colon, of which the first may be missing, and is no later."""
    if not isinstance(value, str) or value.count(":") != 1:
        return False
    first, last = value.split(":")
    ends = [days_of(last)] if not first else [days_of(first), days_of(last)]
    return None not in ends and ends[0] <= ends[-1]


KINDS = ("year", "quarter", "month", "week")
BEFORE_DATES = ("noise", "catalogue", "item_features", "cohort")


def is_range(value, result):
    """Two days, from the first to the last of which there are at most 120 periods."""
    if not is_cohort(value, result) or value.startswith(":"):
        return False
    return len(periods(value, result["settings"]["dates"])) <= 120


def periods(value, kind):
    """The first day of each period, from that of the first to that of the last day, in order."""
    first, last = map(date.fromisoformat, value.split(":"))
    days = (first + timedelta(days=count) for count in range((last - first).days + 1))
    return sorted({first_of(day, kind) for day in days})


def first_of(day, kind):
    if kind == "week":
        return day - timedelta(days=day.weekday())
    months = {"month": 1, "quarter": 3, "year": 12}[kind]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def cohort(given, number):
    """Noisy sums may be over the users alone whose first rating is in some days."""
    has = number == 9 and "cohort" in given and given.get("noise") == "gaussian"
    return {"cohort": is_cohort} if has else {}


def plan(given, number):
    """Of how many releases a release that reuses noisy sums is which one."""
    names = ("planned_releases", "release_number")
    has = number == 9 and given.get("noise") == "gaussian" and any(name in given for name in names)
    return dict.fromkeys(names, is_number_of_plan) if has else {}


def answers(given, number):
    """Noisy answers may be published next to what was drawn from them."""
    has = number == 9 and "answers" in given and given.get("noise") == "gaussian"
    return {"answers": one_of("published")} if has else {}


def sampled(given, number):
    """Users sampled from a published model name it by its digest."""

    def is_digest(value, _):
        return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None

    return {"sampled_from": is_digest} if number == 9 and "sampled_from" in given else {}


def is_number_of_plan(number, result):
    """A release that reuses noisy sums follows at least one; a plan has few of them."""
    is_one = type(number) is int and 2 <= number <= 10_000
    return is_one and bool(result["claim"]["ledger"].get("earlier"))


def steps(given, number):
    """Two groupings may state steps that are not the usual ones."""
    found = {"distance": "weighted-squared", "centers": "users", "assignment": "pairwise"}
    if number != 9 or given.get("grouping") not in ("PredictiveGrouping", "BoundedTMeans"):
        return {}
    return {name: one_of(step) for name, step in found.items() if name in given}


def by_workloads(given, groupings, number):
    """One grouping is of several workloads, and states how many."""
    if number == 9 and given.get("grouping") == "pagecom":
        return {"grouping": one_of("pagecom"), "workloads": one_of(*range(1, 257))}
    return {"grouping": one_of(*groupings)}


def limits(given, number):
    """How many values of an item there are at least, and how far they are from all at most."""
    found = {
        "diversity": one_of(*range(2, 101)),
        "closeness": lambda value, _: type(value) is float and 0 <= value <= 1,
    }
    return {name: kind for name, kind in found.items() if name in given and number == 9}


def number_of(result):
    """The number of a format; the tenth is the ninth with dates."""
    return min(9, FORMATS.index(result["format"]) + 1)


def short(records, result):
    """The users with one or two ratings, if release.json counts them."""
    if "short_users" not in result.get("counts", {}):
        return {}
    return {"short_users": sum(next_to[0][0] for _, items, _, next_to in records if len(items) < 3)}


def with_dates(expected, result):
    """Sparse rows have dates, before what is told of items; noisy synthetic users after cohorts.

    No others are of that format.
    """
    if result["format"] not in FORMATS[9:] or (
        result["format"] == FORMATS[10] and "dates" not in result["settings"]
    ):
        return expected
    given = result["settings"]
    if given.get("method") == "synthetic people":
        has = result["format"] in FORMATS[9:] and given.get("noise") == "gaussian"
        names = [*expected] if has else []
        place = sum(name in ("method", *BEFORE_DATES) for name in names)
        dates = {"dates": one_of(*KINDS), "date_range": is_range}
        before, after = names[:place], names[place:]
        return {name: (expected | dates)[name] for name in [*before, *dates, *after] if has}
    if given.get("method") != "sparse rows":
        return {}
    last = {name: expected.pop(name) for name in ("items", "counts") if name in expected}
    return expected | {"dates": one_of(*KINDS, "order")} | last


def settings_of(result, number):
    """What the settings of a release can be, by name and in order; nothing for unknown methods."""
    given = result["settings"]
    method, rest = given.get("method"), {}
    if number == 6 or (
        number >= 8 and "ratings" in result["settings"]
    ):  # of likes: nothing stands there that is about ratings
        rest = {"k-coRating": by_workloads(given, BY_FILL[:2], number)}
        rest |= {"sparse rows": {"crowd": cluster} | left_out(given)}
        rest["synthetic people"] = {
            "noise": one_of("gaussian", "none"),
            "catalogue": one_of("given", "as rated", "chosen"),
            **bound(given, number),
            **features(given, number),
            **cohort(given, number),
            **plan(given, number),
            **answers(given, number),
            **sampled(given, number),
            "people": one_of("asked for", "counted"),
            "pooled_share": share,
            "activity": numbers(1, MOST, count=128, order=sorted),
            "directions": one_of(*range(65)),
        }
        rest = rest[method] | {"ratings": one_of("likes")} if method in rest else {}
    elif method == "predictive anonymization":
        rest = {
            "homogenize": one_of("padded", "simple"),
            "predictor": class_of(*PREDICTORS),
            "grouping": class_of(*GROUPINGS, SPARK[1]),
            "label_step": step_or_none,
        }
        rest |= {"labels": one_of("model")} if "labels" in given else {}
        if number >= 5 and "labels" in given and "rare_labels" in given:
            rest |= {"rare_labels": one_of("pooled")}
        rest |= limits(given, number)
        rest |= {"padding": share} if number == 9 and "padding" in given else {}
        rest |= neighbours(given, ("UserKNN", "TrustKNN"), number)
        rest |= steps(given, number)
    elif method == "k-coRating":
        rest = {
            "fill": class_of(*FILLS),
            **by_workloads(given, BY_FILL, number),
            "round_fills": one_of(True, False),
            "protect": one_of("none", "shuffle", "mean"),
        }
        rest |= {"trust": one_of("worked out", "stated")} if given.get("fill") == "trust" else {}
        ways = {"direct_weights": one_of("similarity"), "trust_steps": one_of(2)}
        if given.get("fill") == "trust" and number == 9:
            rest |= {name: way for name, way in ways.items() if name in given}
        rest |= neighbours(given, ("similarity", "trust"), number)
        rest |= {"label_step": step} if given.get("protect") == "mean" else {}
        rest |= limits(given, number)
    elif method == "words by shares" and number in (7, 9):
        rest = {"homogenize": one_of("commonest", "shares"), "grouping": one_of(*GROUPINGS[:-2])}
    elif method == "sparse rows" and number >= 3:
        rest = {"crowd": cluster}
        rest |= left_out(given) if number >= 5 else {}
        rest |= {"label_step": step}
    elif method == "synthetic people" and number >= 3:
        rest = {
            "noise": one_of("gaussian", "none"),
            "catalogue": one_of("given", "as rated", "chosen"),
            **bound(given, number),
            **features(given, number),
            **cohort(given, number),
            **plan(given, number),
            **answers(given, number),
            **sampled(given, number),
            "people": one_of("asked for", "counted"),
            "label_step": step_or_tenth,
            "pooled_share": share,
            "activity": numbers(1, MOST, count=128, order=sorted),
            "cuts": numbers(-math.inf, math.inf, count=cuts_of, order=rising),
            "spreads": numbers(1e-6, 1, count=2),
        }
        tilted = {"tilts": numbers(-2, 2, most=64), "likings": numbers(0, 2, most=64)}
        rest |= tilted if number >= 5 else {}
    if rest and "items" in given:
        rest |= {"items": one_of("pseudonyms")}
    return {"method": one_of(method)} | rest if rest else {}


def problems_of_form(content, result, written):
    """Say what in release.json no release says so, or writes so; stop at the first."""
    try:
        yield from first(
            problems_of_writing(content, written),
            problems_of_keys(result),
            problems_of_series(result),
            problems_of_kinds(result),
            problems_of_settings(result),
            problems_of_queries(result),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        yield "release.json lacks something, or it is of another kind"


def first(*parts):
    """What the first part says that says anything."""
    for part in parts:
        if found := list(part):
            return found
    return []


def problems_of_writing(content, written):
    if (json.dumps(written, indent=2, ensure_ascii=False) + "\n").encode() != content:
        yield "release.json is not written in the one way"


def problems_of_keys(result):
    """Each part has its own keys, all of them, and in their order."""
    if result["format"] not in FORMATS:
        yield "nobody knows this format"
        return
    number = number_of(result)
    if number == 8 and not isinstance(result["claim"], dict):
        yield "a format of noisy sums without noise"
        return
    since = {"formulas": 5, "previous": 9, "item_table": 9, "user_attributes": 9}
    keys = [key for key in KEYS if key not in since or (number >= since[key] and key in result)]
    counts = COUNTS[: 6 if number == 1 else 7]
    is_worded = number == 7 or (number >= 8 and "words" in result["scale"])
    if result["layout"] == "model":
        counts = ["items"]
    elif "classes.csv" not in result["files"]:
        counts = ["users", "labels", "items"]
    if number == 9 and result["layout"] != "model" and "short_users" in result["counts"]:
        counts = [*counts, "short_users"]
    expected = [
        (result, keys),
        (result["diversity"], ["b", "l"]),
        (result["scale"], ["low", "high", "step", *(["words", "ordered"] if is_worded else [])]),
        (result["counts"], counts),
        *((entry, ["sha256", "bytes"]) for entry in result["files"].values()),
    ]
    expected += [(result["formulas"], ["items", "example"])] if "formulas" in result else []
    if isinstance(result["claim"], dict):
        ledger = result["claim"]["ledger"]
        queries = ["name", "what", "sensitivity", "sigma", "values"]
        neighbours = ["neighbours"] if number >= 8 else []
        promise = ["kind", "epsilon", "delta", "unit", *neighbours, "ledger"]
        expected.append((result["claim"], promise))
        earlier = ["earlier"] if number == 9 and "earlier" in ledger else []
        expected.append((ledger, ["queries", "threshold_delta", *earlier]))
        expected += [(query, queries) for query in ledger["queries"]]
    if any(list(found) != wanted for found, wanted in expected):
        yield "release.json has other keys, or in another order"
    order = ["classes.csv", "items.csv", "users.csv", "answers.npz", "README.md"]
    order = [name for name in order if name in result["files"]]
    if list(result["files"])[1:] != order or ("items.csv" in order) != ("item_table" in result):
        yield "files stand in another order"
    have_users = ["user_attributes" in result, "users.csv" in order]
    has_answers = "answers" in result["settings"]
    found = [*have_users, "answers.npz" in order]
    if found != [*[result["format"] == FORMATS[10]] * 2, has_answers]:
        yield "attributes of users or answers without their file or format, or the reverse"


def problems_of_series(result):
    """Only sparse rows follow another release, by its digest."""
    if "previous" in result and (
        result["settings"].get("method") != "sparse rows"
        or not re.fullmatch("[0-9a-f]{64}", result["previous"])
    ):
        yield "such a release follows no other one"


def problems_of_kinds(result):
    """Whole numbers are no truth values and have no point; others have one."""
    claim, diversity, scale = result["claim"], result["diversity"], result["scale"]
    has_users = claim in ("identical-rows", "co-rated")
    whole = [
        (result["k"], 2 if has_users and result["levels"] is False else 1),
        *((number, 1) for number in diversity.values()),
        *((number, int(name == "short_users")) for name, number in result["counts"].items()),
        *((entry["bytes"], 0) for entry in result["files"].values()),
    ]
    broken = [scale["low"], scale["high"], *([] if scale["step"] is None else [scale["step"]])]
    if isinstance(claim, dict):
        ledger = claim["ledger"]
        broken += [claim["epsilon"], claim["delta"], ledger["threshold_delta"]]
        broken += [query[name] for query in ledger["queries"] for name in ("sensitivity", "sigma")]
        whole += [(query["values"], 1) for query in ledger["queries"]]
    whole += [(result["formulas"]["items"], 1)] if "formulas" in result else []
    if not all(type(number) is int and least <= number <= MOST for number, least in whole):
        yield "a whole number is none"
    if not all(type(number) is float and abs(number) <= 1e12 for number in broken):
        yield "a number is none"
    if type(result["levels"]) is not bool or (
        diversity["b"] > 3 and result["format"] != FORMATS[8]
    ):
        yield "levels or diversity make no sense"
    if result["layout"] not in ("users", "groups" if has_users else "model"):
        yield "nobody knows this layout"
    if result["item_type"] not in ("integer", "text"):
        yield "nobody knows this item_type"
    if len(result["recveil"]) > 20 or not VERSION.fullmatch(result["recveil"]):
        yield "recveil has no such version"
    if not makes_sense(*(scale[name] for name in ("low", "high", "step"))):
        yield "the scale makes no sense"
    if "words" in scale:
        yield from problems_of_words(**scale)
    yield from problems_of_item_columns(result.get("item_table", ["title"]), result)
    yield from problems_of_attributes(result.get("user_attributes", {"columns": ["age"]}), result)


def problems_of_attributes(about, result):
    """Columns of users, of which the last may be sensitive, next to sparse rows of named items.

    Those of noisy synthetic users have public values instead.
    """
    if isinstance(about, dict) and "values" in about:
        yield from problems_of_public_values(about, result)
        return
    keys = (
        ["columns", "sensitive", "l"] if isinstance(about, dict) and len(about) > 1 else ["columns"]
    )
    if not isinstance(about, dict) or list(about) != keys:
        yield "attributes of users have other keys"
        return
    names = about["columns"]
    yield from problems_of_item_columns(names, {"settings": {}})
    if len(about) > 1:
        l_makes_sense = type(about["l"]) is int and 2 <= about["l"] <= result["k"]
        if not l_makes_sense or about["sensitive"] != names[-1] or result["layout"] == "groups":
            yield "a sensitive attribute that makes no sense"
    settings = result["settings"]
    is_sparse = settings.get("method") == "sparse rows" and settings.get("items") is None
    if "user_attributes" in result and not is_sparse:
        yield "attributes of users of another method, or next to hidden items"


def problems_of_public_values(about, result):
    settings = result["settings"]
    if (settings.get("method"), settings.get("noise")) != ("synthetic people", "gaussian"):
        yield "values of people who are no noisy synthetic ones"
    if list(about) != ["columns", "values"] or result["layout"] == "model":
        yield "attributes of users have other keys, or are of a model"
        return
    names, lists = about["columns"], about["values"]
    yield from problems_of_item_columns(names, {"settings": {}})
    if not isinstance(lists, list) or len(lists) != len(names):
        yield "not one list of values per column"
        return
    for values in lists:
        if not (isinstance(values, list) and 1 <= len(values) <= 30):
            yield "too few values, or too many"
        elif not all(isinstance(value, str) and is_plain(value) for value in values):
            yield "a value that no cell can have"
        elif len({*values, "*"}) != len(values) + 1:
            yield "a value twice, or the one of unknown ones"


def is_plain(text):
    return 0 < len(text) <= 100 and text == text.strip() and not re.search(f"[{UNSHOWN}]", text)


def problems_of_item_columns(names, result):
    """Columns of items have names of their own, which are not that of the ids."""
    if not (isinstance(names, list) and 0 < len(names) <= 100 and len(set(names)) == len(names)):
        yield "items have no such columns"
    elif not all(isinstance(name, str) and NAME.fullmatch(name) for name in names):
        yield "a column of items has no such name"
    if "item_table" in result and result["settings"].get("items") is not None:
        yield "hidden items are named"


def problems_of_words(low, high, step, words, ordered):
    """Words are texts that users can see and no spreadsheet runs, numbered from 1 on."""
    if type(ordered) is not bool or not isinstance(words, list):
        yield "words or their order are none"
    elif not 2 <= len(words) <= 100 or len(set(words)) < len(words):
        yield "so many words there cannot be"
    elif not all(isinstance(word, str) and is_word(word) for word in words):
        yield "a word is none"
    elif (low, high, step) != (1, len(words), 1):
        yield "words are numbered otherwise"


def is_word(text):
    if not 1 <= len(text) <= 40 or text != text.strip() or not text.isprintable():
        return False
    return bool(NUMBER.fullmatch(text)) or not RUN_IN_CELL.search(text)


def makes_sense(low, high, step):
    steps = 0 if step is None else (high - low) / step
    return low <= high and steps >= 0 and abs(steps - round(steps)) <= 1e-3


def problems_of_settings(result):
    """The settings are those of a method that is known, and lead to the claim."""
    number, given = number_of(result), result["settings"]
    expected = with_dates(settings_of(result, number), result)
    if not expected or list(given) != list(expected):
        yield "the settings are no method's"
        return
    if "words" in result["scale"]:
        yield from problems_of_worded(result["scale"], given)
    yield from problems_together(result, given, number)
    if "ratings" in given and result["scale"] != {"low": 1.0, "high": 1.0, "step": 1.0}:
        yield "likes are 1"
    for name, right in expected.items():
        if not right(given[name], result):
            yield f"settings: {name} has no such value"
    if len(given.get("tilts", ())) != len(given.get("likings", ())):
        yield "tilts and likings are of other directions"
    claim = result["claim"] if isinstance(result["claim"], str) else result["claim"]["kind"]
    if claim != claim_of(given):
        yield "the settings lead to another claim"
    if "items" in given and (number == 1 or result["item_type"] != "text"):
        yield "items cannot be hidden here"
    is_plain = result["levels"] is False and result["diversity"] == {"b": 1, "l": 1}
    has_sets = number == 9 and result["levels"] is False and given["method"] == "k-coRating"
    if not (is_plain or has_sets) and given["method"] != "predictive anonymization":
        yield "levels or diversity of a method that has none"


def problems_of_levels(given):
    """Of any two levels, one has no more than a thousand times the ratings of the other."""
    below = [0, *((1 + math.erf(cut / math.sqrt(2))) / 2 for cut in given.get("cuts", ())), 1]
    shares = [high - low for low, high in itertools.pairwise(below)]
    if min(shares) < 0.001 * max(shares) - 1e-6:
        yield "a level without ratings"


def problems_together(result, given, number):
    """Each value is one, but no release has them together."""
    yield from problems_of_levels(given)
    yield from problems_of_limits(result, given)
    scale, step = result["scale"], result["scale"]["step"]
    if "labels" in given and (given["homogenize"] != "padded" or result["levels"]):
        yield "predictions alone are in padded rows of one size"
    is_sparse, predicts = given["method"] == "sparse rows", "labels" in given
    if number == 9 and (is_sparse > ("rare_items" in given) or predicts > ("rare_labels" in given)):
        yield "nothing is told of rare items"
    if result["levels"] and given.get("grouping") in GROUPINGS[:-2]:
        yield "a grouping without levels"
    if (scale["low"] == scale["high"]) and "ratings" not in given and number == 9:
        yield "one value, and no likes"
    if given["method"] == "words by shares" and "words" not in scale:
        yield "no words"
    if given.get("round_fills") is True and step is None and scale["low"] < scale["high"]:
        yield "nothing to round to"
    tenth = (step or (scale["high"] - scale["low"]) / 10 or 1.0) / 10
    usual = step if "words" in scale else float(f"{tenth:.6g}")
    if ("crowd" in given or "fill" in given) and given.get("label_step", usual) != usual:
        yield "another grid than the usual one"
    own = [name.removesuffix(OWN) for name in given.values() if OWN in str(name)]
    if number == 9 and not set(own) <= {*PREDICTORS, *GROUPINGS, *SPARK}:
        yield "parameters of what has none"
    if number == 9:
        yield from problems_of_makers(result, given)


def problems_of_limits(result, given):
    """Limits of values are of rows from which values can be left out, with levels to count."""
    scale = result["scale"]
    if not {"diversity", "closeness"} & set(given):
        return
    if not scale["step"] or (scale["high"] - scale["low"]) / scale["step"] >= 100:
        yield "no levels to count"
    averages = given.get("homogenize") == "padded" or given.get("protect") == "mean"
    others = result["levels"] or result["diversity"] != {"b": 1, "l": 1}
    if averages or others or given.get("round_fills", True) is not True:
        yield "limits of values of another release"


def problems_of_makers(result, given):
    """Two groupings are for levels alone, and Spark makes plain releases."""
    if given.get("grouping") in GROUPINGS[-2:] and not result["levels"]:
        yield "a grouping for levels, and no levels"
    if "padding" in given:
        is_part = 0 < given["padding"] < 1 and result["diversity"]["l"] == 1
        if not is_part or given["homogenize"] != "padded" or "labels" in given:
            yield "padding of rows that are not partly padded"
    parts = given.get("predictor"), given.get("grouping")
    is_plain = not result["levels"] and result["diversity"] == {"b": 1, "l": 1}
    more = {"labels", "items", "padding"} & set(given) or "words" in result["scale"] or not is_plain
    if set(parts) & set(SPARK) and (parts != SPARK or more):
        yield "Spark makes no such release"


def problems_of_worded(scale, given):
    """One method takes words without an order, and nothing lies between two words."""
    if scale["ordered"] is (given["method"] == "words by shares"):
        yield "words of this method have another order, or none"
    if (given.get("label_step", 1.0), given.get("round_fills", True)) != (1.0, True):
        yield "nothing lies between two words"


def claim_of(given):
    if given["method"] == "synthetic people":
        return "aggregates" if given["noise"] == "none" else "differentially-private"
    return "co-rated" if given.get("protect") in ("none", "shuffle") else "identical-rows"


def problems_of_queries(result):
    """Queries have the names that the method uses."""
    if isinstance(result["claim"], dict):
        number = number_of(result)
        found = [(query["name"], query["what"]) for query in result["claim"]["ledger"]["queries"]]
        asked = QUERIES_OF_LIKES if "ratings" in result["settings"] else QUERIES
        asked = asked + [(*QUERY_OF_DATES, 3)] * ("dates" in result["settings"])
        asked = asked + [(*QUERY_OF_ATTRIBUTES, 3)] * ("user_attributes" in result)
        if found != [(name, what) for name, what, since in asked if since <= number]:
            yield "other queries than were asked"
        elif "user_attributes" in result:
            lists = result["user_attributes"]["values"]
            values = sum(len(values) + 1 for values in lists) * (3 + 2 * 64)
            if result["claim"]["ledger"]["queries"][-1]["values"] != values:
                yield "the attributes have other values than their lists"
