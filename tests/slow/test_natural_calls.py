"""Natural calls that take more than a CPU second."""

import pytest

import recveil
from shared.natural_calls import CALLS, REMEDIES, SLOW, names_in, problem_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("natural")


@pytest.fixture(scope="module")
def names(folder):
    names = names_in(folder, n_users=400)
    return {**names, "a": recveil.audit(names["R"], targets=20)}


@pytest.mark.parametrize("call", [call for call in CALLS if any(slow in call for slow in SLOW)])
def test_a_natural_call_works_or_says_what_to_type(call, names, folder):
    problem = problem_of(call, names, folder)
    assert bool(problem) == (call in REMEDIES), problem
    assert REMEDIES.get(call, "") in problem
