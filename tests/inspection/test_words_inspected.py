"""What inspect reports of words."""

import pytest

from recveil.cli import main
from recveil.inspection import inspect
from recveil.ratings import RatingScale

WORDS = ("hate", "dislike", "like", "love")
SCALE = RatingScale.of_labels(WORDS)


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code or 0


class TestInspect:
    def test_each_word_and_how_many_used_it(self, tmp_path):
        text = "user,item,rating\n1,7,like\n1,8,like\n2,7,hate\n"
        (tmp_path / "words.csv").write_text(text)
        found = inspect(tmp_path / "words.csv", scale=SCALE)
        assert [tuple(word) for word in found.labels] == [
            ("hate", 1, 1),
            ("dislike", 0, 0),
            ("like", 2, 1),
            ("love", 0, 0),
        ]
        assert found.to_dict()["scale"]["labels"][2] == {"label": "like", "ratings": 2, "users": 1}

    def test_words_are_no_markup_of_the_terminal(self, tmp_path, capsys):
        text = "user,item,rating\n1,7,[bold]\n2,7,[/bold]\n"
        (tmp_path / "words.csv").write_text(text)
        assert run("inspect", tmp_path / "words.csv", "--order", "[bold],[/bold]") == 0
        assert "[bold] < [/bold]" in capsys.readouterr().out
