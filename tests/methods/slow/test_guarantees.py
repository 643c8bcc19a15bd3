"""What is promised of any release: any ratings, method and settings that can be thought of.

Each is checked by recveil and by the second checker, which shares nothing with it. With
RECVEIL_TORTURE=1 there are many more of them.
"""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import forging
import independent
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyarrow import csv
from scipy import stats

from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows
from recveil.methods.base import anonymize_hidden
from recveil.publish import Release
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from recveil.verification import verify
from shared.methods_guarantees import ANY, MARK, TORTURE, forms, tables, texts_of, written


@st.composite
def predictive(draw, ratings):
    k = draw(st.integers(2, min(6, ratings.n_users)))
    homogenize = draw(st.sampled_from(["padded", "simple"]))
    grids = ["tenth", "none", 0.5, 0.3, *["scale"] * (ratings.scale.step is not None)]
    more = {"round_values": draw(st.sampled_from(grids))}
    if draw(st.booleans()):
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        grouping = draw(st.sampled_from(["level-gather", "one-k-gather"]))
        some = [1, k] if grouping == "one-k-gather" else np.arange(1, k + 1)
        more["privacy_levels"] = [k, *rng.choice(some, ratings.n_users - 1)]
    else:
        grouping = draw(st.sampled_from(["k-gather", "bisecting", "predictive", "mdav"]))
        more |= {"b": draw(st.integers(1, 2)), "l": draw(st.integers(1, 2))}
        more["values"] = draw(st.sampled_from(["rated", *["predicted"] * (homogenize == "padded")]))
    predictor = draw(st.sampled_from(["item-mean", "item-mean", "funk-svd"]))
    return lambda seed: PredictiveAnonymizer(k, homogenize, predictor, grouping, seed=seed, **more)


@st.composite
def k_corating(draw, ratings):
    k = draw(st.integers(2, min(6, ratings.n_users)))
    fill = draw(st.sampled_from(["item-mean", "random", "similarity"]))
    grouping = draw(st.sampled_from(["gecom", "supports"]))
    protect = draw(st.sampled_from(["none", "shuffle", "mean"]))
    round_fills = draw(st.booleans())
    return lambda seed: KCoRater(
        k, fill, grouping, protect=protect, round_fills=round_fills, seed=seed
    )


@st.composite
def sparse(draw, ratings):
    k = draw(st.integers(2, 6))
    return lambda seed: SparseRows(k, seed=seed)


METHODS = {"predictive": predictive, "k-corating": k_corating, "sparse": sparse}


@st.composite
def sides(draw):
    """Ratings, and what makes both sides of a release of them from a seed."""
    name = draw(st.sampled_from(sorted(METHODS)))
    ratings = draw(tables(20 if name == "sparse" else 2))
    maker = draw(METHODS[name](ratings))
    hides = draw(st.booleans())
    event(f"{name}{', hidden items' * hides}")

    def make(seed):
        anonymizer = maker(seed)
        made = (
            anonymize_hidden(ratings, anonymizer, seed) if hides else anonymizer.anonymize(ratings)
        )
        return Release(made.published, made.private)

    return ratings, make, hides


seeds = st.integers(10**15, 2**63 - 1)


@ANY
@given(made=sides(), form=forms, seed=seeds)
def test_both_checkers_hold_it_and_nothing_private_stands_in_it(made, form, seed):
    ratings, make, hides = made
    with written(make, seed, form) as out:
        if out is None:
            return
        verdict = verify(out, private=f"{out}.private")
        assert (verdict.holds, verdict.private_found) == (True, [])
        assert list(independent.problems(out)) == []
        published = "\n".join(texts_of(out))
        items = [str(item) for item in ratings.items] if not hides else []
        for item in sorted(items, key=len, reverse=True):
            if MARK in item:
                published = published.replace(item, "")
        private = [MARK, str(seed), f"{seed:,}", f"{seed:x}", *map(str, ratings.users)]
        if hides:
            private += [str(item) for item in ratings.items if MARK in str(item)]
        assert [value for value in private if value in published] == []
        assert not re.search(r"\b\d\d:\d\d:\d\d", published)
        assert datetime.now(UTC).date().isoformat() not in published


@settings(ANY, max_examples=300 if TORTURE else 8)
@given(made=sides(), form=forms, seed=seeds, threads=st.integers(2, 4))
def test_it_is_the_same_whatever_the_threads(made, form, seed, threads):
    _, make, _ = made
    with written(make, seed, form) as one, written(make, seed, form, threads) as many:
        if one is None or many is None:
            assert one == many
            return
        for file in one.iterdir():
            assert file.read_bytes() == (many / file.name).read_bytes()


def change_cell(rows, data):
    row, name = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(sorted(rows[0])))
    others = [other[name] for other in rows]
    others += [others[0] + 1, 0] if isinstance(others[0], int | float) else [MARK]
    row[name] = data.draw(st.sampled_from(others))
    return rows


def remove(rows, data):
    at = data.draw(st.integers(0, len(rows) - 1))
    return rows[:at] + rows[at + data.draw(st.integers(1, 3)) :]


def repeat(rows, data):
    at = data.draw(st.integers(0, len(rows) - 1))
    to = data.draw(st.integers(0, len(rows)))
    again = [dict(row) for row in rows[at : at + data.draw(st.integers(1, 3))]]
    return rows[:to] + again + rows[to:]


def swap(rows, data):
    name = data.draw(st.sampled_from(sorted(rows[0])))
    one, other = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(rows))
    one[name], other[name] = other[name], one[name]
    return rows


def remove_a_record(rows, data):
    user = data.draw(st.sampled_from(rows))["user_id"]
    return [row for row in rows if row["user_id"] != user]


def claim_more(rows, data):
    """Say that a record has more users, or fewer."""
    user = data.draw(st.sampled_from(rows))["user_id"]
    name = data.draw(st.sampled_from(["group_size", "k"]))
    for row in rows:
        if row["user_id"] == user and name in row:
            row[name] += data.draw(st.sampled_from([-1, 1]))
    return rows


def write_rows(rows, file, schema):
    """As recveil writes them."""
    table = pa.Table.from_pylist(rows, schema=schema)
    if file.suffix == ".csv":
        csv.write_csv(table, file)
        return
    whole = pa.types.is_integer(schema.field("item_id").type)
    pq.write_table(
        table,
        file,
        compression="zstd",
        store_schema=False,
        use_dictionary=[name for name in table.column_names if name != "item_id"],
        column_encoding={"item_id": "DELTA_BINARY_PACKED"} if whole else None,
    )


def read_rows(file):
    table = (
        csv.read_csv(file, parse_options=csv.ParseOptions(newlines_in_values=True))
        if file.suffix == ".csv"
        else pq.ParquetFile(file).read()
    )
    # Where all ids of items look like numbers, release.json says that they are text.
    is_text = '"item_type": "text"' in (file.parent / "release.json").read_text()
    types = {"user_id": pa.string(), "item_id": pa.string() if is_text else pa.int64()}
    types |= {"rating": pa.float64(), "group_size": pa.int64(), "k": pa.int64()}
    schema = pa.schema([(name, types[name]) for name in table.column_names])
    if file.suffix == ".csv":
        how = csv.ConvertOptions(column_types=schema, strings_can_be_null=False, null_values=[])
        table = csv.read_csv(
            file, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=how
        )
    return table.to_pylist(), schema


def holds(out):
    try:
        return verify(out).holds
    except RecveilError:
        return False


CHANGES = [change_cell, remove, repeat, swap, remove_a_record, claim_more]


@ANY
@given(made=sides(), form=forms, seed=seeds, data=st.data())
def test_what_was_changed_does_not_hold_or_its_claim_is_true(made, form, seed, data):
    _, make, _ = made
    with written(make, seed, form) as out:
        if out is None:
            return
        file = next(out.glob("ratings.*"))
        content = file.read_bytes()
        for _ in range(4):
            file.write_bytes(content)
            rows, schema = read_rows(file)
            change = data.draw(st.sampled_from(CHANGES))
            rows = change(rows, data)
            write_rows(rows, file, schema)
            if file.read_bytes() == content:
                continue
            assert not holds(out), "whoever does not make the digests anew is found"
            forged = Path(shutil.copytree(out, out.with_name("forged"), dirs_exist_ok=True))
            forging.complete(forged, file.name)
            if holds(forged):
                event(f"{change.__name__}: the claim is still true")
                assert list(independent.problems(forged)) == []


@pytest.mark.parametrize("hides", [False, True])
def test_no_order_goes_with_that_of_ids(tmp_path, hides):
    """Over many seeds, the rank of an id and the place of its record have nothing in common."""
    rng = np.random.default_rng(5)
    users, items = np.nonzero(rng.random((24, 6)) < 0.6)
    values = rng.integers(1, 6, users.size)
    ratings = Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))
    taus = []
    for seed in range(40 if not TORTURE else 1_000):
        anonymizer = PredictiveAnonymizer(2, "simple", "item-mean", seed=seed)
        if hides:
            private = anonymize_hidden(ratings, anonymizer, seed).private
            taus.append(stats.kendalltau(private.items, np.arange(private.items.size))[0])
        else:
            groups = anonymizer.anonymize(ratings).private.groups
            place = np.repeat(np.arange(groups.sizes.size), groups.sizes)
            taus.append(stats.kendalltau(groups.members, place)[0])
    assert abs(np.mean(taus)) < 4 * np.std(taus) / np.sqrt(len(taus))
