"""A second checker of published folders, which shares nothing with recveil.

It is written after docs/reference/release-format.md, as plainly as can be: if it and `recveil
verify` disagree, one of the two is wrong. It asks less than recveil does, and holds everything in
memory.

Of the card it reads the last line alone. Which words a card has follows from recveil's templates,
so that words which a publisher added cannot be seen without knowledge of recveil; whoever judges
`verify` must write the card again, with recveil, and compare it (as fuzz/targets.py does).
"""

import csv
import hashlib
import json
import math
import re
import struct
from collections import Counter, defaultdict
from datetime import date
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from independent_drawn import kind_of, problems_of_model, problems_of_promise, problems_of_users
from independent_form import UNSHOWN, in_names_of_8, number_of, problems_of_form, short
from independent_parquet import problems_of_parquet
from independent_text import columns_of, problems_of_text

USER, ITEM = re.compile(r"p[0-9a-f]{4}-([0-9]+)"), re.compile(r"i[0-9a-f]{4}-([0-9]+)")
# What a spreadsheet runs, but for numbers; the wide forms count in some languages.
RUN = re.compile("(?![+-][0-9]+([.][0-9]+)?\\Z)[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def blake(content):
    return hashlib.blake2b(content, digest_size=16)


def rows_of(file):
    """All rows, as dictionaries of texts and numbers."""
    if file.suffix == ".parquet":
        return pq.ParquetFile(file).read().to_pylist()
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def records_of(rows, is_text, words=None):
    """For each pseudonym in turn, its items and dated labels, and what its rows say next to them.

    Words count by their place among all, from 1 on; what is none of them counts as 0.
    """
    records, place = [], {word: at for at, word in enumerate(words or (), 1)}
    for row in rows:
        user, item = row["user_id"], row["item_id"] if is_text else int(row["item_id"])
        next_to = int(row.get("group_size", 1)), int(row.get("k", 1))
        if not records or records[-1][0] != user:
            records.append((user, [], Labels(), []))
        records[-1][1].append(item)
        label = row["rating"]
        records[-1][2].append(float(label) if words is None else float(place.get(label, 0)))
        records[-1][3].append(next_to)
        if "date" in row:
            records[-1][2].dates.append(date.fromisoformat(str(row["date"])))
    return records


class Labels(list):
    """The labels of a record, and their dates if there are any."""

    def __init__(self):
        super().__init__()
        self.dates = []


def digest_of(items, labels, k, result):
    """What classes.csv calls a record of these items and labels."""
    content = blake(b"".join(blake(str(item).encode()).digest() for item in items)).digest()
    if result["claim"] != "co-rated":
        content += struct.pack(f"<{len(labels)}d", *labels)
        days = [(each - date(1970, 1, 1)).days for each in labels.dates]
        content += struct.pack(f"<{len(days)}i", *days)
    return blake(content + (k.to_bytes(8, "little") if result["levels"] else b"")).hexdigest()


def problems(folder):
    """Say what speaks against a release; nothing, if its claim holds."""
    folder = Path(folder)
    content = (folder / "release.json").read_bytes()
    try:
        written = json.loads(content.decode(), parse_constant=refuse)
        result = in_names_of_8(written)
        kind = kind_of(result["claim"])
    except (ValueError, KeyError, TypeError, RecursionError):
        yield "release.json describes nothing"
        return
    if kind is None:
        yield "nobody knows what is claimed"
        return
    found = list(problems_of_form(content, result, written))
    # What has another form can mean anything: nothing else is checked then.
    yield from found or problems_of_release(
        folder, result, written, is_drawn=kind not in ("identical-rows", "co-rated")
    )


def problems_of_release(folder, result, written, *, is_drawn):
    """Say what in the files is not as release.json, which is in form, says that it is."""
    yield from problems_of_files(folder, result)
    names = ["model.parquet"] if result["layout"] == "model" else ["ratings.parquet", "ratings.csv"]
    name = next((name for name in names if name in result["files"]), None)
    next_to = ["README.md"] if is_drawn else ["classes.csv", "README.md"]
    next_to += ["items.csv"] if "item_table" in result else []
    next_to += ["answers.npz"] if "answers" in result["settings"] else []
    next_to += ["users.csv"] if "user_attributes" in result else []
    if set(result["files"]) != {name, *next_to} or not (folder / name).is_file():
        yield "other files than such a release has"
        return
    yield from problems_of_card(folder, written)
    if name.endswith(".parquet"):
        yield from problems_of_parquet(folder / name)
    if is_drawn:
        yield from problems_of_promise(result)
    if result["layout"] == "model":
        rows = rows_of(folder / name)
        yield from problems_of_model(rows, result)
        yield from problems_of_formulas({row["item_id"] for row in rows}, result)
        yield from problems_of_item_table(folder, {row["item_id"] for row in rows}, result)
        yield from problems_of_answers(folder, {row["item_id"] for row in rows}, written)
        return
    if found := list(problems_of_columns(folder / name, columns_of(result))):
        yield from found
        return
    rows = rows_of(folder / name)
    if not rows:
        yield "there are no records"
    records = records_of(rows, result["item_type"] == "text", result["scale"].get("words"))
    yield from problems_of_records(records, result)
    items = {item for _, items, *_ in records for item in items}
    yield from problems_of_formulas(items, result)
    yield from problems_of_item_table(folder, items, result)
    yield from problems_of_answers(folder, items, written)
    if is_drawn:
        yield from problems_of_users(records, result)
        yield from problems_of_drawn_attributes(folder, records, result)
    else:
        yield from problems_of_claim(folder, records, result)
        yield from problems_of_user_table(folder, records, result)


def refuse(constant):
    raise ValueError(f"{constant} is no number of JSON")


def problems_of_columns(file, columns):
    """Only such columns, of such kinds, and in text each value in its one notation."""
    if file.suffix == ".csv":
        yield from problems_of_text(file.read_bytes(), columns)
        return
    kinds = {
        str: ("string", "large_string"),
        int: ("int64",),
        float: ("double",),
        date: ("date32[day]",),
    }
    found = [(field.name, str(field.type)) for field in pq.read_schema(file)]
    if [name for name, _ in found] != list(columns):
        yield "columns"
    elif not all(kind in kinds[columns[name]] for name, kind in found):
        yield "a column is of another kind"


def problems_of_files(folder, result):
    """Nothing else lies there, and all is as it was written."""
    if {file.name for file in folder.iterdir()} != {"release.json", *result["files"]}:
        yield "files"
    for name, entry in result["files"].items():
        content = (folder / name).read_bytes() if (folder / name).is_file() else b""
        if (hashlib.sha256(content).hexdigest(), len(content)) != (entry["sha256"], entry["bytes"]):
            yield f"{name} was changed"


def problems_of_card(folder, result):
    """From the fourth format on, the card ends with a digest of all but the list of files."""
    if number_of(result) < 4:
        return
    rest = {name: part for name, part in result.items() if name != "files"}
    content = json.dumps(rest, indent=2, ensure_ascii=False) + "\n"
    digest = hashlib.sha256(content.encode()).hexdigest()
    last = f"\nSHA-256 of `release.json` without its list of files: `{digest}`.\n"
    if not (folder / "README.md").read_bytes().endswith(last.encode()):
        yield "the card belongs to another release.json"


def problems_of_formulas(items, result):
    """Ids that a spreadsheet would run are reported; before the fifth format they need not be."""
    found = sorted(item for item in items if isinstance(item, str) and RUN.match(item))
    right = {"items": len(found), "example": found[0][:40]} if found else None
    keeps_quiet = "formulas" not in result and number_of(result) < 5
    if result.get("formulas") != right and not keeps_quiet:
        yield "formulas are not told as they are"


def problems_of_answers(folder, items, result):
    """Say what the published answers cannot be, by the ledger and the items, in today's names."""
    if "answers" not in result["settings"]:
        return
    with np.load(folder / "answers.npz", allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    for query in result["claim"]["ledger"]["queries"]:
        answer = found.get(query["name"].replace(" ", "_"), np.zeros(0, np.int64))
        is_chosen = (
            query["name"] == "item sums" and result["settings"]["item_catalog"] == "selected"
        )
        if answer.dtype != np.float64 or not np.isfinite(answer).all():
            yield "an answer is not made of numbers"
        elif answer.size > query["values"] or (answer.size < query["values"] and not is_chosen):
            yield "an answer has another size than its query"
    if not set(items) <= set(found["items"].tolist()):
        yield "items without an answer"


def problems_of_item_table(folder, items, result):
    """One line for each item of the release, and for no other, in one notation."""
    if "item_table" not in result:
        return
    kind = str if result["item_type"] == "text" else int
    columns = {"item_id": kind} | dict.fromkeys(result["item_table"], str)
    if found := list(problems_of_text((folder / "items.csv").read_bytes(), columns)):
        yield from found
        return
    rows = rows_of(folder / "items.csv")
    if [kind(row["item_id"]) for row in rows] != sorted(items):
        yield "other items than those of the release"
    texts = "".join(row[name] for row in rows for name in result["item_table"])
    if re.search(f"[{UNSHOWN}]", texts):
        yield "a text of an item is not shown whole"


def problems_of_user_table(folder, records, result):
    """Enough users share a record and its attributes, and no sensitive value is too frequent."""
    if "user_attributes" not in result:
        return
    about = result["user_attributes"]
    columns = dict.fromkeys(["user_id", *about["columns"]], str)
    if found := list(problems_of_text((folder / "users.csv").read_bytes(), columns)):
        yield from found
        return
    rows = rows_of(folder / "users.csv")
    if [row["user_id"] for row in rows] != [user for user, *_ in records]:
        yield "attributes of others than the records, or in another order"
        return
    n_users, sensitive = Counter(), defaultdict(list)
    for row, (_, items, labels, next_to) in zip(rows, records, strict=True):
        texts = [row[name] for name in about["columns"]]
        if not all(texts) or re.search(f"[{UNSHOWN}]", "".join(texts)):
            yield "an attribute is empty, or not shown whole"
        if any(text != text.strip() or len(text) > 100 for text in texts):
            yield "an attribute between spaces, or of more than 100 characters"
        value = texts.pop() if "sensitive" in about else "*"
        key = (tuple(items), tuple(labels), tuple(labels.dates), tuple(texts))
        n_users[key] += next_to[0][0]
        sensitive[key] += [value] if value != "*" else []
    if min(n_users.values()) < result["k"]:
        yield "too few users share a record and its attributes"
    for values in sensitive.values():
        if values and max(Counter(values).values()) * about.get("l", 1) > len(values):
            yield "a sensitive value is too frequent in a class"


def problems_of_drawn_attributes(folder, records, result):
    """Each synthetic user has a row, of listed values or the one of unknown ones."""
    if "user_attributes" not in result:
        return
    names, lists = result["user_attributes"].values()
    columns = dict.fromkeys(["user_id", *names], str)
    if found := list(problems_of_text((folder / "users.csv").read_bytes(), columns)):
        yield from found
        return
    rows = rows_of(folder / "users.csv")
    if [row["user_id"] for row in rows] != [user for user, *_ in records]:
        yield "attributes of others than the records, or in another order"
    for name, values in zip(names, lists, strict=True):
        if not {row[name] for row in rows} <= {*values, "*"}:
            yield "a value that is not listed"


def problems_of_records(records, result):
    """Pseudonyms from 0 on, ascending items, and labels on the scale and the grid."""
    numbers = [USER.fullmatch(user) for user, *_ in records]
    users = sum(next_to[0][0] for *_, next_to in records)
    if not all(numbers) or [n[1] for n in numbers] != from_0_on(len(records), users):
        yield "users are no pseudonyms from 0 on"
    if len({user[:6] for user, *_ in records}) > 1:
        yield "pseudonyms of several releases"
    low, high, step = *(result["scale"][end] for end in ("low", "high")), grid_of(result)
    for user, items, labels, next_to in records:
        if items != sorted(set(items)) or len(set(next_to)) > 1:
            yield f"{user}: items do not ascend, or what stands beside them changes"
        if not all(low <= label <= high for label in labels):
            yield f"{user}: a label is off the scale"
        elif step and not all(on_grid(label, low, high, step) for label in labels):
            yield f"{user}: a label is off the grid"
        if not are_dates(labels.dates, result["settings"].get("dates")):
            yield f"{user}: a date is no first day, or no next position"
    if result["settings"].get("items") == "pseudonyms":
        names = {item for _, items, _, _ in records for item in items}
        found = [ITEM.fullmatch(name) for name in names]
        if not all(found) or sorted(n[1] for n in found) != from_0_on(len(names), len(names)):
            yield "items are no pseudonyms from 0 on"


def are_dates(days, period):
    """Whether all are first days of a period, or positions that count from the first of 1970."""
    if period != "order":
        return all(begins(day, period) for day in days)
    return {(day - date(1970, 1, 1)).days for day in days} == {*range(len({*days}))}


def begins(day, period):
    """Whether a year, quarter, month or week begins with this day."""
    if period == "week":
        return day.strftime("%A") == "Monday"
    return day.day == 1 and (day.month - 1) % {"year": 12, "quarter": 3, "month": 1}[period] == 0


def from_0_on(count, most):
    """Numbers with as many digits as the largest that could be."""
    return [f"{at:0{len(str(most))}d}" for at in range(count)]


def grid_of(result):
    step = result["settings"].get("label_step")
    return step if isinstance(step, float) and step >= 1e-8 else None


def on_grid(label, low, high, step):
    """The grid is counted from the low end, and the high end belongs to it."""
    return label == high or abs(low + round((label - low) / step) * step - label) < 1e-9


def problems_of_claim(folder, records, result):
    """Enough users share what is claimed to be shared, and classes.csv says how many."""
    users, needed, items_of = classes(records, result)
    sizes = {size for *_, next_to in records for size, _ in next_to}
    if min(sizes, default=1) < 1:
        yield "nobody stands behind a record"
    if result["settings"]["method"] == "k-coRating" and sizes - {1}:
        yield "several people stand behind a record that is one person's"
    for digest, k in needed.items():
        if users[digest] < k:
            yield f"{users[digest]} people share what {k} should"
    b, least, rows = result["diversity"]["b"], result["diversity"]["l"], defaultdict(set)
    for digest, items in items_of.items() if least > 1 else ():
        for some in combinations(items, b):
            rows[some].add(digest)
    if any(len(those) < least for those in rows.values()):
        yield "a set of items stands in too few different rows"
    listing, found = described(records, result)
    yield from problems_of_rows(records, found, result)
    listed = (folder / "classes.csv").read_text(errors="replace")
    yield from problems_of_list(listed, listing, users, result)
    if any(result["counts"][name] != number for name, number in found.items()):
        yield "counts"


def problems_of_list(listed, listing, users, result):
    """The classes, or the parts of each class that were one in the release before, are listed."""
    if "previous" not in result:
        yield from [] if listed == listing else ["classes.csv does not list these classes"]
        return
    header, *lines, end = listed.split("\n")
    parts = [line.split(",") for line in lines]
    if (header, end) != ("digest,users,previous", "") or any(len(part) != 3 for part in parts):
        yield "classes.csv has other columns"
        return
    named = [previous for _, _, previous in parts if previous]
    if not all(re.fullmatch("([0-9a-f]{32})?", part[2]) for part in parts) or (
        len({*named}) < len(named)
    ):
        yield "a class of the release before is in several"
    if not all(re.fullmatch("[1-9][0-9]{0,14}", n) and int(n) >= result["k"] for _, n, _ in parts):
        yield "users who joined a class are too few"
        return
    keys = [(digest, previous) for digest, _, previous in parts]
    found = Counter()
    for digest, n, _ in parts:
        found[digest] += int(n)
    if keys != sorted({*keys}) or found != users:
        yield "classes.csv does not list these classes"


def problems_against(folder, old):
    """Say why a release, which has no other problems, does not continue the classes of another."""
    folder, old = Path(folder), Path(old)
    after, before = (
        in_names_of_8(json.loads((each / "release.json").read_bytes())) for each in (folder, old)
    )
    if after.get("previous") != hashlib.sha256((old / "release.json").read_bytes()).hexdigest():
        yield "it follows another release"
        return
    if any(after[name] != before[name] for name in ("claim", "k")):
        yield "it promises something else"
    about = after.get("user_attributes")
    if about is not None and about != before.get("user_attributes"):
        yield "it has other attributes than the release before"
        return
    was, now = (seen(each, result, about) for each, result in ((old, before), (folder, after)))
    expected, named = defaultdict(Counter), set()
    for line in (folder / "classes.csv").read_text().splitlines()[1:]:
        digest, n, previous = line.split(",")
        named |= {previous} - {""}
        if previous and was.get(previous, Counter()).total() != int(n):
            yield "a class has another number of rows than before"
        expected[digest].update(was.get(previous, {}))
    if named != was.keys():
        yield "it names other classes than the release before has"
    for digest, found in now.items():
        if any(found[row] < n for row, n in expected[digest].items()):
            yield "a class has other attributes than before"
        yield from problems_of_newcomers(found - expected[digest], after["k"], about or {})


def problems_of_newcomers(found, k, about):
    """Enough newcomers share a row and its attributes, and their sensitive values are diverse."""
    n_users, sensitive = Counter(), defaultdict(Counter)
    for (texts, value), n in found.items():
        n_users[texts] += n
        sensitive[texts].update({} if value == "*" else {value: n})
    if min(n_users.values(), default=k) < k:
        yield "too few newcomers have these attributes"
    for values in sensitive.values():
        if max(values.values(), default=0) * about.get("l", 1) > values.total():
            yield "a sensitive value is too frequent among newcomers"


def seen(folder, result, about):
    """For each class, how many of its users have which attributes, and which sensitive value."""
    name = next(name for name in result["files"] if name.startswith("ratings"))
    rows = rows_of(folder / name)
    records = records_of(rows, result["item_type"] == "text", result["scale"].get("words"))
    texts_of = {}
    for row in rows_of(folder / "users.csv") if about else ():
        texts = [row[name] for name in about["columns"]]
        value = texts.pop() if "sensitive" in about else "*"
        texts_of[row["user_id"]] = tuple(texts), value
    found = defaultdict(Counter)
    for user, items, labels, next_to in records:
        size, k = next_to[0]
        found[digest_of(items, labels, k, result)][texts_of.get(user, ((), "*"))] += size
    return found


def problems_of_rows(records, found, result):
    """Rows of two methods hold all items; those of one have few values of each item."""
    settings = result["settings"]
    is_full = settings["method"] == "words by shares" or settings.get("homogenize") == "padded"
    is_full &= "padding" not in settings
    if is_full and any(len(items) < found["items"] for _, items, *_ in records):
        yield "a row lacks an item"
    yield from problems_of_padding(records, found, result)
    if settings.get("homogenize") == "simple" and result["diversity"]["l"] == 1:
        users, *_ = classes(records, result)
        for _, items, labels, next_to in records:
            n = users[digest_of(items, labels, next_to[0][1], result)]
            if not all(is_mean(label, n, result) for label in set(labels)):
                yield "a label that is no mean of so many ratings"
    by_means = settings.get("labels") == "model" and settings["predictor"] == "ItemMean"
    if by_means and len({tuple(labels) for _, _, labels, _ in records}) > 1:
        yield "means of items that differ between rows"
    if "fill" in settings and result["scale"]["step"] is not None:
        yield from problems_of_fills(records, result)
    if {"diversity", "closeness"} & set(settings):
        yield from problems_of_limits(records, result)
    if "crowd" in settings:
        rows = [dict(zip(items, labels, strict=True)) for _, items, labels, _ in records]
        if least_clusters(rows) * max(settings["crowd"], result["k"]) > found["users"]:
            yield "more values of items than such crowds can have"


def problems_of_padding(records, found, result):
    """An item is in the rows of its raters, at least one, and in a share of the others."""
    if "padding" not in result["settings"]:
        return
    rows_with = Counter(item for _, items, *_ in records for item in items)
    is_expanded = found["records"] == found["users"]
    n = found["classes"] if is_expanded else found["records"]
    degree = result["settings"]["padding"]
    fewest = min(rated + int(degree * (n - rated)) for rated in range(1, n + 1))
    if min(rows_with.values()) < fewest * (result["k"] if is_expanded else 1):
        yield "an item in fewer rows than such padding leads to"


def problems_of_limits(records, result):
    """Values of an item in a class are diverse, and near to all of its values."""
    least, most = (result["settings"].get(name, 0) for name in ("diversity", "closeness"))
    low, high, step = (result["scale"][name] for name in ("low", "high", "step"))
    if "homogenize" in result["settings"]:  # means, of ratings that are not there
        users, *_ = classes(records, result)
        for _, items, labels, next_to in records:
            n = users[digest_of(items, labels, next_to[0][1], result)]
            away = step * sum(range(least)) / n - (grid_of(result) or 0) / 2 - 1e-6
            if n < least or min(labels) < low + away or max(labels) > high - away:
                yield "a mean that cannot be of so many levels"
        return
    cells, whole = defaultdict(list), defaultdict(list)
    for _, items, labels, _ in records:
        for item, label in zip(items, labels, strict=True):
            cells[tuple(items), item].append(label)
            whole[item].append(label)
    for (_, item), labels in cells.items():
        if len(set(labels)) < least:
            yield "too few values of an item"
        below = [
            sum(label < low + (level + 0.5) * step for label in labels) / len(labels)
            - sum(label < low + (level + 0.5) * step for label in whole[item]) / len(whole[item])
            for level in range(round((high - low) / step))
        ]
        if most and sum(map(abs, below)) / max(1, len(below)) > most + 1e-6:
            yield "values of an item far from all"


def problems_of_fills(records, result):
    """What is no level is a fill, and means of levels are means."""
    settings = result["settings"]
    are_levels = settings["round_fills"] or settings["fill"] == "random"
    if settings["protect"] == "mean" and are_levels:
        users, *_ = classes(records, result)
        for _, items, labels, next_to in records:
            n = users[digest_of(items, labels, next_to[0][1], result)]
            if not all(is_mean(label, n, result, least=n) for label in set(labels)):
                yield "a label that is no mean of so many levels"
    elif settings["protect"] != "mean" and not settings["round_fills"]:
        given = defaultdict(list)
        for _, items, labels, _ in records:
            for item, label in zip(items, labels, strict=True):
                given[item].append(label)
        yield from problems_of_unrounded(given.values(), settings["fill"], result["scale"])


def problems_of_unrounded(given, fill, scale):
    """A random fill is a level, and the fills of an item are the mean of its labels."""
    low, high, step = (scale[name] for name in ("low", "high", "step"))
    near = 5e-7 * max(abs(low), abs(high))
    for labels in given:
        levels = {label: low + round((label - low) / step) * step for label in labels}
        off = [label for label, level in levels.items() if abs(min(level, high) - label) > near]
        mean = sum(labels) / len(labels)
        if fill == "random" and off:
            yield "a random fill that is no level"
        if fill == "item-mean" and (len(off) > 1 or any(abs(one - mean) > near for one in off)):
            yield "a fill that is no mean of its item"


def is_mean(label, most, result, least=1):
    """Whether whole steps of so many users at most have this mean, rounded to the grid."""
    scale, grid = result["scale"], grid_of(result) or 0
    if scale["step"] is None or not math.isfinite(label):  # the latter is said elsewhere
        return True
    slack = grid / 2 + 0.001 * scale["step"] + 1e-6 * max(abs(scale["low"]), abs(scale["high"]))
    for n in range(least, min(most, 20) + 1):
        part = scale["step"] / n
        if abs(label - scale["low"] - round((label - scale["low"]) / part) * part) <= slack:
            return True
    return most >= 20


def least_clusters(rows):
    """So many rows, no two of one cluster: by one item, or the longest that differ pairwise."""
    values, apart = defaultdict(set), []
    for row in sorted(rows, key=len, reverse=True):
        for item, label in row.items():
            values[item].add(label)
        if all(any(row.get(item, own) != own for item, own in other.items()) for other in apart):
            apart.append(row)
    return max(len(apart), *map(len, values.values())) if values else 0


def classes(records, result):
    """How many users share each class, how many should, and its items."""
    users, needed, items_of = Counter(), {}, {}
    for _, items, labels, next_to in records:
        size, k = next_to[0]
        digest = digest_of(items, labels, k, result)
        users[digest] += size
        needed[digest] = max(k if result["levels"] else 1, result["k"])
        items_of[digest] = items
    return users, needed, items_of


def described(records, result):
    """What classes.csv and the counts of release.json must be."""
    users, *_ = classes(records, result)
    lines = [f"{digest},{n}" for digest, n in sorted(users.items())]
    found = {
        "users": users.total(),
        "records": len(records),
        "labels": sum(len(items) for _, items, *_ in records),
        "items": len({item for _, items, *_ in records for item in items}),
        "classes": len(users),
        "alone": sum(n == 1 for n in users.values()),
        **short(records, result),
    }
    name = "users" if number_of(result) >= 9 else "people"
    return "\n".join([f"digest,{name}", *lines, ""]), found
