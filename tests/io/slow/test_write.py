"""What is written is read back, and a failure leaves nothing behind."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.io import understand, write_ratings
from recveil.ratings import Ratings, RatingScale

# From 1990 to 2024: other days may be of another unit, or stand for an unknown time.
DAYS = st.integers(7_305, 20_000)

# Ids contain neither control characters nor line breaks.
any_text = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]),
    min_size=1,
    max_size=6,
)

awkward = any_text | st.sampled_from(
    ["007", "7", "a,b", '"', '""', "it's", " x ", "é", "\ufeff", "nan", "#"]
)


def rating_tables(labels: st.SearchStrategy[str]) -> st.SearchStrategy[Ratings]:
    cells = st.dictionaries(
        st.tuples(labels, labels),
        st.tuples(st.floats(-9, 9, width=32), DAYS),
        min_size=1,
        max_size=8,
    )
    return cells.map(
        lambda table: Ratings.from_columns(
            [user for user, _ in table],
            [item for _, item in table],
            [rating for rating, _ in table.values()],
            days=[day for _, day in table.values()],
            scale=RatingScale(-9, 9),
        )
    )


@settings(max_examples=60, deadline=None)
@given(
    ratings=rating_tables(awkward.filter(lambda label: "\t" not in label)),
    format=st.sampled_from(["csv", "parquet"]),
)
def test_round_trip_with_awkward_labels(ratings: Ratings, format: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "r")
        write_ratings(ratings, path, format=format)
        assert understand(path, format=format, scale=ratings.scale).ratings == ratings


@settings(max_examples=60, deadline=None)
@given(ratings=rating_tables(awkward.filter(lambda label: not set(label) & set("\t\r\n"))))
def test_round_trip_with_awkward_labels_in_inter(ratings: Ratings) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "r.inter")
        write_ratings(ratings, path)
        assert understand(path, scale=ratings.scale).ratings == ratings
