"""KCoRater: seven users of six items worked by hand, what it must never change, and the edges."""

from collections import Counter

from recveil.methods import KCoRater
from shared.methods_k_corating import BY_HAND, rows_of


class TestByHand:
    def test_each_way_to_deal_is_equally_likely_and_items_are_independent(self):
        # In {1, 3} a holds 4 and 2, b holds 2 and 4: four outcomes, 100 times each of 400; the
        # standard deviation of a count is √(400 * 1/4 * 3/4) = 8.7.
        outcomes = Counter()
        for seed in range(400):
            rows = rows_of(KCoRater(2, protect="shuffle", seed=seed).anonymize(BY_HAND))
            assert sorted([rows[1]["a"], rows[3]["a"]]) == [2, 4]
            outcomes[rows[1]["a"], rows[1]["b"]] += 1
        assert len(outcomes) == 4
        assert all(abs(count - 100) < 4 * 8.7 for count in outcomes.values())

    def test_of_three_each_gets_a_label_with_a_third(self):
        # {0, 6, 4}: c holds 1 of user 0, 2 filled for 6 and 2 of 4, f 5 thrice. User 0's 1 stays
        # with them in a third of 400 runs: 133, and the standard deviation is 9.4.
        stays = 0
        for seed in range(400):
            rows = rows_of(KCoRater(2, protect="shuffle", seed=seed).anonymize(BY_HAND))
            assert sorted(rows[user]["c"] for user in (0, 6, 4)) == [1, 2, 2]
            assert {rows[user]["f"] for user in (0, 6, 4)} == {5}
            stays += rows[0]["c"] == 1
        assert abs(stays - 400 / 3) < 4 * 9.4
