"""Words at the command line: every verb takes them, or refuses them by name."""

import pytest

from recveil.cli import main
from recveil.ratings import RatingScale

WORDS = ("hate", "dislike", "like", "love")

ORDER = ",".join(WORDS)


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code or 0


class TestCommandLine:
    @pytest.mark.parametrize(
        "more", [("--scale", "1:4:1"), ("--words", "all"), ("--words", "a,b")], ids=str
    )
    def test_one_of_scale_order_and_words(self, words_file, capsys, more):
        assert run("inspect", words_file, "--order", ORDER, *more) == 2
        assert "are both given, and each defines the ratings" in capsys.readouterr().err

    def test_without_it_both_remedies_are_named(self, words_file, capsys):
        assert run("inspect", words_file) == 2
        result = capsys.readouterr().err
        assert "order (--order hate,like,love)" in result
        assert "words (--words all)" in result


class TestWithoutAnOrder:
    """What takes numbers for more than names refuses them."""

    UNORDERED = RatingScale.of_labels(WORDS, ordered=False)

    def test_all_that_do_more_refuse_them_by_name(self, words_file, words_made, tmp_path, capsys):
        for arguments in (
            ("anonymize", words_file, "-o", tmp_path / "out", "--k", "5"),
            ("anonymize", words_file, "-o", tmp_path / "out", "--k", "5", "--dry-run"),
            ("anonymize", words_file, "-o", tmp_path / "out", "--k", "5", "--method", "sparse"),
            ("anonymize", words_file, "-o", tmp_path / "out", "--k", "5", "--method", "k-corating"),
            ("anonymize", words_file, "-o", tmp_path / "out", "--epsilon", "20"),
            ("evaluate", words_file, "--release", words_made / "simple", "--split", "0.2"),
        ):
            assert run(*arguments, "--words", ORDER) == 2, arguments
            result = capsys.readouterr().err
            assert "order (--order)" in result, arguments
        assert not list(tmp_path.iterdir())

    def test_a_self_test_holds(self, words_file):
        assert run("selftest", words_file, "--words", ORDER) == 0
