"""GeCom's grouping: a table worked by hand, a plain oracle, and what is at the edges."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.methods import Groups
from recveil.methods.k_corating.gecom import form_groups, gecom, union_of_items
from recveil.ratings import Ratings, RatingScale


def table(supports: list[str], items: str = "abcdef") -> Ratings:
    """One user for each word; its letters are the items that they rated, all with 3."""
    rows = [[items.index(letter) for letter in word] for word in supports]
    return Ratings(
        *(np.arange(len(rows)), list(items), np.cumsum([0, *map(len, rows)])),
        *([item for row in rows for item in row], [3] * sum(map(len, rows)), None),
        RatingScale(1, 5, 1),
    )


def grouped(supports: list[str], k: int, workloads: int = 1) -> list[list[int]]:
    groups = gecom(table(supports), k, workloads)
    return [part.tolist() for part in np.split(groups.members, groups.starts[1:-1])]


class TestByHand:
    SUPPORTS = ("abc", "ab", "c", "ab", "abcd", "b", "aef")

    def test_seven_users_of_six_items(self):
        # By number of ratings, then by items: b (5), c (2), ab (1), ab (3), abc (0), aef (6),
        # abcd (4). M1 is {1, 3}. Of M2 = 5, 2, 0, 6, 4 the first two are a group, the next two
        # begin one, and 4 alone is fewer than 2 and joins it.
        assert grouped(self.SUPPORTS, 2) == [[1, 3], [5, 2], [0, 6, 4]]

    def test_its_unions(self):
        groups = Groups(np.array([1, 3, 5, 2, 0, 6, 4]), np.array([0, 2, 4, 7]))
        starts, items = union_of_items(table(self.SUPPORTS), groups)
        assert starts.tolist() == [0, 2, 4, 10]
        assert items.tolist() == [0, 1, 1, 2, 0, 1, 2, 3, 4, 5]

    def test_with_larger_k_there_is_no_m1(self):
        # 5, 2, 1 | 3, 0, 6 + 4: but 3 rated the same as 1, the last of the first group, and is
        # drawn into it. Then 0, 6, 4 are the second.
        assert grouped(self.SUPPORTS, 3) == [[5, 2, 1, 3], [0, 6, 4]]

    def test_two_workloads(self):
        # M2 = b (5), c (2), abc (0), aef (6), abcd (4), acde (7) is cut after abc: 0 joins 5 and 2,
        # as fewer than k are left there. One workload has three groups.
        supports = (*self.SUPPORTS, "acde")
        assert grouped(supports, 2, workloads=2) == [[1, 3], [5, 2, 0], [6, 4, 7]]
        assert grouped(supports, 2) == [[1, 3], [5, 2], [0, 6], [4, 7]]
        # There are no more workloads than have two users each.
        assert grouped(supports, 2, workloads=9) == grouped(supports, 2)

    def test_twice_k_may_fill_fewer_cells(self):
        # Against Lemma 2. Pairs rated the same, and a group of 3 takes in the second user of its
        # last pair: abc abc abd abd | bcd bcd efg efg | efh efh fgh fgh, on 4, 6 and 4 items, 56
        # cells. At 6: two groups of 6 on 4 items, 48 cells.
        supports = [items for items in ("abc", "abd", "bcd", "efg", "efh", "fgh") for _ in range(2)]
        ratings = table(supports, "abcdefgh")
        cells = {}
        for k in (3, 6):
            groups = gecom(ratings, k)
            cells[k] = (np.diff(union_of_items(ratings, groups)[0]) * groups.sizes).tolist()
        assert cells == {3: [16, 24, 16], 6: [24, 24]}


class TestEdges:
    def test_ties_go_by_position(self):
        # All rated two items, none the same two: ab, ac, cd, ef.
        assert grouped(["ef", "ab", "cd", "ac"], 2) == [[1, 3], [2, 0]]
        # Two classes of equal sets, each of them large enough: M1, in order of items.
        assert grouped(["cd", "ab", "cd", "ab"], 2) == [[1, 3], [0, 2]]

    def test_fewer_items_come_first_whatever_their_names(self):
        # As text or as bytes of little-endian numbers, "f" would come after "ab".
        assert grouped(["ab", "f", "ac", "e"], 2) == [[3, 1], [0, 2]]

    def test_numbers_of_items_above_one_byte_are_compared_as_numbers(self):
        n_items = 600
        rows = [[300, 599], [2, 599], [1, 599], [256, 599]]
        ratings = Ratings(
            *(np.arange(4), np.arange(n_items), [0, 2, 4, 6, 8], np.ravel(rows), [3] * 8),
            *(None, RatingScale(1, 5, 1)),
        )
        assert gecom(ratings, 2).members.tolist() == [2, 1, 3, 0]

    def test_equal_sets_across_a_boundary_stay_together(self):
        # a, b, c make three, and the second c is like the last of them; not so the second b.
        assert grouped(["a", "b", "c", "c", "bd", "be", "bf"], 3) == [[0, 1, 2, 3], [4, 5, 6]]
        assert grouped(["a", "b", "b", "bc", "bd", "be", "bf"], 3) == [[0, 1, 2], [3, 4, 5, 6]]

    def test_equal_sets_on_both_sides_of_m1_are_not_taken_for_neighbours(self):
        # bb is M1 and is taken out; a and c, which are neighbours then, are not alike.
        assert grouped(["a", "b", "b", "c"], 2) == [[1, 2], [0, 3]]

    def test_a_remainder_below_k_joins_the_last_group(self):
        words = ["a", "b", "c", "d", "e", "f", "ab", "cd"]
        assert grouped(words, 3) == [[0, 1, 2], [3, 4, 5, 6, 7]]
        assert grouped(words[:6], 3) == [[0, 1, 2], [3, 4, 5]]

    def test_fewer_than_2k_are_one_group(self):
        assert grouped(["a", "b", "c", "d", "e"], 3) == [[0, 1, 2, 3, 4]]
        assert grouped(["a", "b", "c"], 3) == [[0, 1, 2]]

    def test_m1_is_everything(self):
        assert grouped(["ab", "c", "ab", "c"], 2) == [[1, 3], [0, 2]]
        assert grouped(["ab"] * 5, 2) == [[0, 1, 2, 3, 4]]

    def test_few_who_are_left_join_the_nearest_class_of_m1(self):
        # abe: joining ab (two users) costs them e each and abe nothing, 2; joining cdf (two
        # users) costs them a, b, e each and abe c, d, f: 9.
        assert grouped(["ab", "ab", "cdf", "cdf", "abe"], 2) == [[0, 1, 4], [2, 3]]
        # With three users each: cf costs ab's 3 * 2 + 2 = 8, and cdf's nothing but cf's d: 1.
        words = ["ab", "ab", "ab", "cdf", "cdf", "cdf", "abe", "cf"]
        assert grouped(words, 3) == [[0, 1, 2, 6], [3, 4, 5, 7]]

    def test_of_equally_near_classes_the_first(self):
        # c shares nothing with a or b: 2 * 1 + 1 cells in both.
        assert grouped(["b", "b", "a", "a", "c"], 2) == [[2, 3, 4], [0, 1]]

    def test_a_large_class_costs_more_to_join(self):
        # ace: three of ac would get e (3), two of ae would get c (2).
        assert grouped(["ac", "ac", "ac", "ae", "ae", "ace"], 2) == [[0, 1, 2], [3, 4, 5]]

    def test_too_few_users_and_bad_k(self):
        with raises("table.too-few-users") as caught:
            grouped(["a", "b"], 3)
        assert "2 users" in str(caught.value)
        with raises("option.value") as caught:
            grouped(["a", "b"], 0)
        assert "k is 0" in str(caught.value)

    def test_k_of_1_leaves_all_users_with_their_likes(self):
        assert grouped(["ab", "a", "ab", "b"], 1) == [[1], [3], [0, 2]]


@given(st.integers(2, 9), st.lists(st.integers(1, 8), max_size=30), st.integers(0, 30))
def test_groups_go_on_wherever_the_classes_are_cut(k, sizes, cut):
    classes = np.array(sizes, np.int64)
    groups, n_whole, waiting = form_groups(classes, k, 0)
    first, n_first, held = form_groups(classes[:cut], k, 0)
    second, n_second, left = form_groups(classes[cut:], k, held)
    assert groups.tolist() == [*first.tolist(), *(n_first + second).tolist()]
    assert (n_whole, waiting) == (n_first + n_second, left)
    users = np.bincount(groups, classes, minlength=n_whole)
    assert (users[:n_whole] >= k).all()
    assert users[n_whole:].sum() == waiting < k
