"""Random histories of ten releases: no set of them leaves any user fewer than k candidates."""

import itertools
import tempfile
from pathlib import Path

import independent
import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from shared.methods_next_release import (
    LIKES,
    MANY,
    RATINGS,
    assert_diverse,
    fewest_candidates,
    figures_of,
    publish,
    tables,
)


@pytest.mark.parametrize("ratings", [RATINGS, LIKES], ids=["ratings", "likes"])
@given(history=tables(), k=st.sampled_from([2, 5]))
@settings(
    max_examples=8,
    phases=tuple(set(Phase) - {Phase.explain, Phase.shrink}),
    suppress_health_check=[HealthCheck.too_slow],
)
def test_at_least_k_users_have_the_same_rows_in_any_set_of_releases(ratings, history, k):
    with tempfile.TemporaryDirectory() as folder:
        releases = publish(history, Path(folder), k, ratings)
        event(f"{len(releases)} releases")
        figures = [figures_of(each) for each in releases[1:]]
        event(f"users left: {any(each['left'] for each in figures)}")
        event(f"users waited: {any(each['waiting'] for each in figures)}")
        event(f"classes below k users: {any(each['short_classes'] for each in figures)}")
        assert fewest_candidates(releases) >= k


@given(
    history=tables(n_releases=6, n_users=150, first=(85, 110)),
    k=st.sampled_from([2, 5]),
    dates=st.sampled_from([None, "year", "order"]),
)
@settings(
    max_examples=8,
    phases=tuple(set(Phase) - {Phase.explain, Phase.shrink}),
    suppress_health_check=[HealthCheck.too_slow],
)
def test_dates_and_attributes_distinguish_no_user_in_any_set_of_releases(history, k, dates):
    """A tenth of the users has other attributes each month."""
    with tempfile.TemporaryDirectory() as folder:
        releases = publish(history, Path(folder), k, MANY, dates=dates)
        event(f"{len(releases)} releases")
        assume(releases)
        assert fewest_candidates(releases) >= k
        assert_diverse(releases)
        for release, before in itertools.pairwise(releases[::-1]):
            assert list(independent.problems(release)) == []
            assert list(independent.problems_against(release, before)) == []
