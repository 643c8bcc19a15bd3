import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings

pytestmark = pytest.mark.usefixtures("few_recommenders")


def write_table(folder):
    ratings = make_ratings(n_users=90, n_items=60, n_ratings=2_600, seed=3)
    write_ratings(ratings, folder / "ratings.csv")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    write_table(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(["compare", *(str(argument) for argument in arguments)])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


SMALL = ("ratings.csv", "--methods", "simple,raw", "--k", "3,99", "--targets", 30, "-o", "out")


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
        (("ratings.csv", "-o", "."), "holds something else"),
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
