import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import PRESETS, Adversary


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("known", value) for value in (0, -1, 2.5, None, "8", float("nan"))),
        *(("right", value) for value in (-1, 9, 1.5)),
        *(("wrong_kind", value) for value in ("values", None)),
        *(("rating_error", value) for value in (-1, float("nan"), float("inf"), "1")),
        *(("date_error", value) for value in (-1, 1.5, float("nan"))),
        *(("first_date_error", value) for value in (-1, 0.5)),
        *(("outside_top", value) for value in (-1, None, 0.5)),
        *(("activity_error", value) for value in (-0.1, float("nan"))),
        *(("algorithm", value) for value in ("scoreboard_rh", None)),
        *(("eccentricity", value) for value in (-0.1, float("nan"), "automatic", None)),
        *(("rating_width", value) for value in (0, float("nan"), "auto", None)),
        *(("day_width", value) for value in (0, -1)),
        *(("threshold", value) for value in (0, 1.1, float("nan"))),
        *((name, 2**63) for name in ("known", "date_error", "outside_top")),
    ],
)
def test_what_makes_no_sense_is_named(setting, value):
    with raises("option.value") as caught:
        Adversary(**{setting: value})
    assert setting in str(caught.value)


@pytest.mark.parametrize("setting", ["known", "rating_error", "date_error", "activity_error"])
def test_what_no_number_of_a_machine_holds_is_refused_in_one_line(setting):
    with raises("option.value") as caught:
        Adversary(**{setting: 10**400})
    assert setting in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "settings", [{"threshold": 0.5}, {"algorithm": "scoreboard", "eccentricity": "auto"}]
)
def test_a_parameter_of_the_other_algorithm_is_refused(settings):
    with raises("option.conflict"):
        Adversary(**settings)


def test_numpy_numbers_are_numbers():
    adversary = Adversary(known=np.int64(3), rating_error=np.float32(0.5), date_error=np.int32(2))
    assert adversary.right == 3


def test_right_is_all_that_is_known_unless_given():
    assert Adversary(known=5).n_right == 5
    assert Adversary(known=5, right=0).n_right == 0


def test_without_dates():
    adversary = PRESETS["paper"].without_dates()
    assert adversary.date_error is None
    assert adversary.settings() == PRESETS["paper"].settings() | {"date_error": None}


def test_settings_name_the_pool():
    assert PRESETS["paper"].settings()["pool"] == "all"
    assert PRESETS["film-buff"].settings()["pool"] == "outside the top 500"


@pytest.mark.parametrize("name", PRESETS)
def test_presets_carry_their_name_and_a_sentence(name):
    preset = PRESETS[name]
    assert preset.name == name
    assert preset.description[0].isupper()
    assert preset.description.endswith(".")
    assert preset.description.count(".") == 1
