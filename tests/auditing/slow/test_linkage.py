"""A release next to another one of the same users, as an audit reports it."""

import json

from recveil.methods import KCoRater
from shared.auditing_linkage import attacked, folder, held, ratings  # noqa: F401 (fixtures)


def test_co_rated_releases_are_held_against_each_other(ratings, tmp_path):
    for seed in (1, 2):
        KCoRater(5, "random", seed=seed).anonymize(ratings).write(tmp_path / f"{seed}")
    attacked = held(ratings, tmp_path, "1", "2")
    assert attacked.linkage.shared.mean_users.mean >= 1
    assert json.dumps(attacked.to_dict(), allow_nan=False)
