import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.ratings import Ratings

# Rows that are left out are reported; most tests here are about which ones.
pytestmark = pytest.mark.filterwarnings("ignore:.*rated an item more than once")


# Ids contain neither.
SIGNS = st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])


@given(
    st.lists(
        st.tuples(st.text(SIGNS, min_size=1, max_size=3), st.integers(-5, 5), st.integers(1, 5)),
        min_size=1,
        max_size=40,
        unique_by=lambda row: row[:2],
    )
)
def test_every_rating_is_found_again(rows):
    users, items, values = zip(*rows, strict=True)
    ratings = Ratings.from_columns(users, items, values)
    table = ratings.to_arrow().to_pydict()
    text_items = [str(item) for item in table["item_id"]]
    found = set(zip(map(str, table["user_id"]), text_items, table["rating"], strict=True))
    assert found == {(user, str(item), float(value)) for user, item, value in rows}
