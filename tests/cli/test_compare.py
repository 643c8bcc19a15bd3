import pytest

from shared.cli_compare import (
    SMALL,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def test_no_result_at_all_ends_with_1(run):
    code, out, _ = run(*SMALL[:1], "--methods", "simple", "--k", 99, "-o", "out")
    assert code == 1
    assert "90 users cannot form a group" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ratings.csv",), "--output"),
        (("nowhere.csv", "-o", "out"), "nowhere.csv"),
        (("ratings.csv", "-o", "out", "--methods", "magic"), "method 'magic': expected all"),
        (("ratings.csv", "-o", "out", "--k", "2;3"), "--k '2;3'"),
        (("ratings.csv", "-o", "out", "--k", "1"), "k is 1"),
        (("ratings.csv", "-o", "out", "--split", "2"), "share is 2"),
        (("ratings.csv", "-o", "."), "has files that are not of a comparison"),
        (("ratings.csv", "-o", "a/b"), "create it first"),
        (("ratings.csv", "-o", "out", "--max-risk", "0"), "is 0.0; expected a share above 0"),
        (("ratings.csv", "-o", "out", "--json", "ratings.csv"), "the input itself"),
    ],
)
def test_wrong_usage_ends_with_2(run, tmp_path, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]
