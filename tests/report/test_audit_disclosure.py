"""The tables of what a release reveals, each with its control and its text."""

from shared.report_audit_disclosure import padded, ratings  # noqa: F401 (fixtures)


def test_members_stand_next_to_the_lot(padded):
    text, release = padded
    for known, words in (("8", "8 exact ratings"), ("all", "all their ratings")):
        result = release["membership"][known]
        assert f"{words} {result['auc']['rate']:.2f}" in text
        assert f"{result['null_auc']['rate']:.2f}" in text
    assert "0.5 is a random guess" in text


def test_attributes_stand_next_to_outsiders(padded):
    text, release = padded
    result = release["attributes"]
    assert f"{100 * result['excess']['rate']:.1f} points" in text
    assert f"{result['nonmembers']['rate']:.1%}" in text
