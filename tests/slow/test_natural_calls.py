"""Natural calls that take more than a CPU second."""

import pytest

import recveil
from shared.natural_calls import REMEDIES, SLOW, names_in, problem_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("natural")


@pytest.fixture(scope="module")
def names(folder):
    names = names_in(folder, n_users=400)
    table, few = names["R"], {"targets": 20}
    return {
        **names,
        "a": recveil.audit(table, **few),
        "e": recveil.evaluate(table, names["rel"], with_membership=False, **few),
        "c": recveil.compare(table, methods=["raw"], **few),
    }


@pytest.mark.parametrize("call", SLOW)
def test_a_natural_call_works_or_says_what_to_type(call, names, folder):
    problem = problem_of(call, names, folder)
    assert bool(problem) == (call in REMEDIES), problem
    assert REMEDIES.get(call, "") in problem
