"""What is said of ratings is said of likes in their words."""

import pytest

from recveil.ratings.ratings import in_likes


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("People with too few ratings", "People with too few likes"),
        ("1 known rating suffices", "1 known like suffices"),
        (
            "items that you rated outside the 500 most rated",
            "items that you liked outside the 500 most liked",
        ),
        ("an item never rated, some unrated", "an item never liked, some not liked"),
        ("if people rate independently", "if people like independently"),
        (
            "so that rates are higher; a false positive rate",
            "so that rates are higher; a false positive rate",
        ),
        (
            "no ratings are known, neither ratings nor dates",
            "no ratings are known, neither ratings nor dates",
        ),
        ("items without ratings", "items without ratings"),
        ("No ratings: read as likes", "No ratings: read as likes"),
        ("if rated: --item-catalog as-rated", "if liked: --item-catalog as-rated"),
        ("ratings by --utility ratings", "likes by --utility ratings"),
        ("operated and separated", "operated and separated"),
    ],
)
def test_of_likes(said, expected):
    assert in_likes(said) == expected
    assert in_likes(said, is_unary=False) == said
