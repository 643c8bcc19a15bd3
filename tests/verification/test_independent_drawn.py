"""Both checkers, on releases and on forgeries that are made to verify."""

import shutil
from pathlib import Path

import forging
import independent
import independent_drawn
import pytest
import targets
from drawn_cases import check_forged, refused, refused_by_both

OLD = Path(__file__).parent / "format_3"

CORPUS = Path(targets.__file__).parent / "corpus" / "release"

NOISY = ["synthetic-users", "synthetic-chosen", "synthetic-model", "drawn"]

ALL = [*NOISY, "synthetic-exact"]


@pytest.fixture
def copy_of(tmp_path):
    """Return a release that a test may break."""

    def copied(name):
        if name == "drawn":
            targets.unpack((CORPUS / name).read_bytes(), tmp_path)
            forging.complete(tmp_path, "ratings.csv")
            return tmp_path
        return Path(shutil.copytree(OLD / name, tmp_path / name))

    return copied


TestRefusedByBoth = refused_by_both(NOISY, "synthetic-exact", ["synthetic-users", "drawn"])


@pytest.mark.parametrize("claim", ["certified", "nothing", "unknown", None, 7, ["co-rated"]])
def test_an_unknown_claim_is_refused_of_rows_too(copy_of, claim):
    folder = copy_of("predictive-padded")
    forging.forge(folder, lambda result: result.update(claim=claim))
    assert refused(folder)
    assert list(independent.problems(folder)) == ["nobody knows what is claimed"]


FORMS = ["predictive-simple-csv", "k-corating", "synthetic-users", "synthetic-model", "drawn"]

TEXTS = ["predictive-simple-csv", "synthetic-users", "drawn"]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("change", forging.OF_TEXT)
def test_the_same_values_in_another_text_are_refused_by_both(copy_of, name, change):
    folder = copy_of(name)
    forging.forge_text(folder, lambda text: text)
    assert (refused(folder), list(independent.problems(folder))) == (False, [])
    before = (folder / "ratings.csv").read_bytes()
    forging.forge_text(folder, forging.OF_TEXT[change])
    assert (folder / "ratings.csv").read_bytes() != before
    check_forged(folder)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("change", forging.OF_FORM)
def test_what_no_release_says_is_refused_by_both(copy_of, name, change):
    folder = copy_of(name)
    forging.forge(folder, forging.OF_FORM[change])
    check_forged(folder)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("change", forging.OF_WRITING)
def test_what_is_written_in_another_way_is_refused_by_both(copy_of, name, change):
    folder = copy_of(name)
    file = folder / "release.json"
    before = file.read_bytes()
    file.write_bytes(forging.OF_WRITING[change](before))
    assert file.read_bytes() != before
    check_forged(folder)


@pytest.mark.parametrize("change", forging.OF_A_LEDGER)
@pytest.mark.parametrize("name", NOISY)
def test_a_ledger_in_another_form_is_refused_by_both(copy_of, name, change):
    folder = copy_of(name)
    forging.forge(folder, forging.OF_A_LEDGER[change])
    check_forged(folder)


class TestEpsilon:
    def test_by_hand(self):
        """Without any noise to speak of left: the two bells are one apart, and 38 % of them."""
        assert independent_drawn.delta_of(1.0, 0.0) == pytest.approx(0.382925, abs=1e-6)
        assert independent_drawn.epsilon_of(1.0, 0.382925) == pytest.approx(0.0, abs=1e-5)
