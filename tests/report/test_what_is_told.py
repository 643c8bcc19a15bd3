"""The tables of what a release tells, each with its control and its words."""

from shared.report_what_is_told import padded, ratings  # noqa: F401 (fixtures)


def test_members_stand_beside_the_lot(padded):
    text, release = padded
    for known, words in (("8", "8 exact ratings"), ("all", "all their ratings")):
        told = release["membership"][known]
        assert f"{words} {told['auc']['rate']:.2f}" in text
        assert f"{told['null_auc']['rate']:.2f}" in text
    assert "0.5 is a random guess" in text


def test_attributes_stand_beside_strangers(padded):
    text, release = padded
    told = release["attributes"]
    assert f"{100 * told['excess']['rate']:.1f} points" in text
    assert f"{told['nonmembers']['rate']:.1%}" in text
