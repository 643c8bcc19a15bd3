"""Calls that users type without reading docs work, or their error says what to type."""

import pytest

import recveil
from shared.natural_calls import CALLS, REMEDIES, SLOW, names_in, problem_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("natural")


@pytest.fixture(scope="module")
def names(folder):
    return names_in(folder, n_users=60)


@pytest.mark.parametrize("call", [call for call in CALLS if call not in SLOW])
def test_a_natural_call_works_or_says_what_to_type(call, names, folder):
    problem = problem_of(call, names, folder)
    assert bool(problem) == (call in REMEDIES), problem
    assert REMEDIES.get(call, "") in problem


def test_almost_all_calls_work():
    assert len(CALLS) - len(REMEDIES) >= 55


def test_the_package_lists_verbs_alone_and_has_the_classes():
    verbs = {"anonymize", "audit", "compare", "convert", "evaluate", "inspect", "read", "verify"}
    assert verbs <= set(dir(recveil))
    assert all(callable(getattr(recveil, name)) and name.islower() for name in dir(recveil))
    assert isinstance(recveil.Synthesizer, type)
