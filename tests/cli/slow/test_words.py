"""Words at the command line: every verb takes them, or refuses them by name."""

import pytest

from recveil.cli import main

WORDS = ("hate", "dislike", "like", "love")

ORDER = ",".join(WORDS)


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code or 0


class TestCommandLine:
    def test_every_verb_takes_the_order(
        self, words_file, words_made, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        for arguments in (
            (
                "audit",
                words_file,
                "--release",
                words_made / "simple",
                "--targets",
                "9",
                "--no-curves",
            ),
            ("selftest", words_file),
            ("inspect", words_file),
            ("anonymize", words_file, "-o", "out", "--k", "5"),
            ("anonymize", words_file, "-o", "dry", "--k", "5", "--dry-run"),
            ("evaluate", words_file, "--release", "out", "--split", "0.2", "--no-membership"),
            (
                "compare",
                words_file,
                "-o",
                "found",
                "--k",
                "5",
                "--targets",
                "9",
                "--methods",
                "simple",
            ),
            ("convert", words_file, "again.csv"),
        ):
            assert run(*arguments, "--order", ORDER) == 0, arguments
            out = " ".join(capsys.readouterr().out.split())
            assert "labels hate < dislike < like < love (given;" in out, arguments
