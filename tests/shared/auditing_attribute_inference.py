"""An audit of a release in a folder, with an attribute that has no relation to the ratings."""

import warnings

import numpy as np

from recveil import anonymize
from recveil.auditing import audit
from recveil.datasets import make_ratings


def audit_folder(place, **options):
    """Audit a release with these options."""
    ratings = make_ratings(n_users=200, n_items=40, n_ratings=4_000, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anonymize(ratings, place / "out", **options)
    group = np.random.default_rng(1).integers(0, 2, ratings.n_users).tolist()
    rows = zip(ratings.users.tolist(), group, strict=True)
    users = place / "users.csv"
    users.write_text("user,g\n" + "".join(f"{user},{of}\n" for user, of in rows))
    return audit(
        ratings, release=place / "out", targets=20, curves=False, users=users, attribute="g"
    )
