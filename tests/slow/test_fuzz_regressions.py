"""Every file of the fuzzers' corpus, without a fuzzer: an answer, or an error of ours."""

import random
from pathlib import Path

import mutating
import pytest
import targets

from recveil.verification import (
    published_file,
)

CORPUS = Path(targets.__file__).parent / "corpus"


def leave_text_alone(monkeypatch):
    """Plant a fault: a text is not compared with recveil's own notation."""
    monkeypatch.setattr(published_file, "_compare", lambda *_, **__: 0)
    monkeypatch.setattr(published_file, "_unusual", lambda *_: iter(()))


class TestTheFuzzersOwnEyes:
    """A target must raise where a checker is wrong, or it finds nothing."""

    def found(self, target, change, data, tries):
        """Whether a target raises for one of many changes; each begins anew."""
        for seed in range(tries):
            try:
                targets.TARGETS[target](change(data, random.Random(seed)))
            except targets.FoundError as error:
                return str(error)
        return ""

    @pytest.mark.parametrize("name", ["simple-users", "drawn", "hidden", "formulas"])
    def test_text_that_is_not_written_again_is_found(self, monkeypatch, name):
        """Needless quotes, other line ends, and 4.0 for 4: a parser takes them for nothing."""
        release = (CORPUS / "release" / name).read_bytes()
        assert not self.found("release", mutating.change_notation, release, 40)
        leave_text_alone(monkeypatch)
        assert "the one notation" in self.found("release", mutating.change_notation, release, 40)
