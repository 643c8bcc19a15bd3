"""Places of rows in files."""

from recveil.io.files import Places


def test_rows_are_found_across_gaps_and_files_in_one_pass() -> None:
    expected = [("a", 2), ("a", 3), ("a", 9), ("b", 10), ("b", 11)]
    passes = []

    def walk():
        passes.append(1)
        return iter(expected)

    places = Places(walk)
    assert [places.locate(row) for row in range(5)] == [f"{f} line {n}" for f, n in expected]
    assert len(passes) == 1
