from error_assertions import raises
from recveil.attacks.attack_target import AttackTarget
from recveil.ratings import Ratings
from shared.attacks_release_target import small, with_text_ids, written  # noqa: F401 (fixtures)


def test_ratings_of_others(small, written):
    fewer = Ratings.from_columns(small.users, [small.items[0]] * small.n_users, [3] * small.n_users)
    with raises("release.mismatch", "ratings.parquet", f"item {small.items[1]}"):
        AttackTarget.from_folder(written, fewer)
    with raises("release.mismatch", "item '1'"):
        AttackTarget.from_folder(written, with_text_ids(small))
    shifted = Ratings(
        small.users + 1, small.items, small.indptr, small.indices, small.values, None, small.scale
    )
    with raises("release.mismatch", f"user {small.users[0]}"):
        AttackTarget.from_folder(written, shifted)
