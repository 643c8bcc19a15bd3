"""The tables of what a release reveals, each with its control and its text."""

from recveil.auditing import audit
from recveil.methods import KCoRater
from shared.report_audit_disclosure import padded, page_of, ratings  # noqa: F401 (fixtures)


def test_cells_stand_next_to_popularity(padded):
    text, release = padded
    result = release["residual"]
    assert "Who rated what" in text
    assert f"{result['recall_at_95']:.1%}" in text
    assert f"{result['popularity_auc']:.2f}" in text


def test_fills_stand_next_to_popularity(ratings, tmp_path):
    text, release = page_of(ratings, KCoRater(5, seed=1), tmp_path)
    last = release["fills"][-1]
    assert f"knows {last['users_known']} users" in text
    assert f"most rated items: {last['popularity_precision']['0.5']['rate']:.1%}" in text
    assert "knows no user, and makes a shadow release" in text
    assert "Who rated what" not in text


def test_hidden_items_stand_next_to_ranks(ratings, tmp_path):
    from recveil.io import write_ratings
    from recveil.methods import anonymize

    write_ratings(ratings, tmp_path / "ratings.csv")
    anonymize(
        *(tmp_path / "ratings.csv", tmp_path / "out"),
        **{"k": 5, "method": "predictive", "homogenize": "simple"},
        **{"seed": 1, "hide_items": True},
    )
    found = audit(ratings, release=tmp_path / "out", targets=60, curves=False)
    page = found.to_html()
    assert "Items under pseudonyms" in page
    assert "ids of other items (control)" in page
