"""Earlier releases of the same users are seen, and the owner is warned."""

import re

import pytest

from recveil.datasets import make_ratings
from recveil.methods import Synthesizer
from recveil.methods.earlier_releases import find_earlier
from recveil.ratings import RatingScale
from recveil.release.private_folder import digest_of
from recveil.report.release import linkage_warnings

pytestmark = pytest.mark.usefixtures("rough_fit")


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


def warned(ratings, output, claim):
    """The one warning for the publisher of a release with that claim."""
    found = find_earlier(ratings.users, output)
    (warning,) = set(linkage_warnings(found, output, claim, digest_of(ratings)))
    return warning


@pytest.fixture(scope="module")
def many_users():
    return make_ratings(300, 40, 5_000, seed=3, scale=RatingScale(1, 5, 1))


def test_a_delta_of_many_thresholds_is_as_large_as_they_are(many_users, tmp_path):
    made = [Synthesizer(30.0, 1e-6).anonymize(many_users) for _ in range(4)]
    for place, release in enumerate(made[:3]):
        release.write(tmp_path / f"r{place}")
    warning = warned(many_users, tmp_path / "r9", made[3].published.claim)
    thresholds = sum(each.published.claim.ledger.threshold_delta for each in made)
    (delta,) = (float(word) for word in re.findall(r"\(delta (\S+)\)", warning))
    assert delta > thresholds
