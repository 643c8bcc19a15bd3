"""Every verb that reads a table takes a path, Ratings, or any table in memory."""

import pytest

from recveil.auditing import audit, selftest
from recveil.comparison import compare
from recveil.evaluation import evaluate
from recveil.io import understand
from recveil.methods import anonymize
from recveil.publish import convert
from recveil.verification import verify
from shared.sources import (
    KINDS,
    MADE,
    plain,  # noqa: F401 (fixtures)
    reading_of,
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


QUICK = {"targets": 5, "with_membership": False}


def results(kind, source, plain, folder):
    """Return what each verb makes of a source; it is made anew for each, as a reader is used up."""
    scale = reading_of(kind)
    made = anonymize(source(), folder / "out", k=4, method="predictive", seed=1, **scale)
    found = audit(source(), targets=5, curves=False, release=plain / "out", **scale).to_dict()
    judged = evaluate(plain / "out", source(), split=0.3, **QUICK, **scale).to_dict()
    compared = compare(source(), folder / "all", methods=["raw"], targets=5, **scale).to_dict()
    understood = understand(source(), **scale)
    convert(source(), folder / "other.csv", **scale)
    stated = verify(source(), k=1, **{name: scale[name] for name in scale if name != "scale"})
    return {
        "understand": understood.ratings,
        "anonymize": [
            (folder / "out" / name).read_bytes() for name in ("classes.csv", "README.md")
        ],
        "anonymized": made.verification.to_dict(),
        "audit": {name: part for name, part in found.items() if name not in ("data", "reading")},
        "selftest": [str(check) for check in selftest(source(), **scale)],
        "evaluate": {name: part for name, part in judged.items() if name != "readings"},
        "compare": [row | {"seconds": None} for row in compared["rows"]],
        "convert": (folder / "other.csv").read_bytes(),
        "verify": (stated.holds, stated.k_achieved, stated.users, stated.records, stated.classes),
    }


@pytest.fixture(scope="module")
def expected(plain, tmp_path_factory):
    return results("path", lambda: plain / "ratings.csv", plain, tmp_path_factory.mktemp("path"))


# Other ways to give what another kind gives, which need not go through every verb again.
SPELLINGS = (
    *("text", "csc matrix", "coo matrix", "dok array", "surprise training set"),
    *("pyarrow table", "pyarrow batch", "arrow array", "interchange", "polars"),
)


class TestEveryKind:
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SPELLINGS])
    def test_goes_through_every_verb_as_the_csv_does(self, kind, plain, expected, tmp_path):
        def source():
            return KINDS[kind](MADE.to_arrow(), plain)

        found = results(kind, source, plain, tmp_path)
        for verb, result in expected.items():
            assert found[verb] == result, verb
