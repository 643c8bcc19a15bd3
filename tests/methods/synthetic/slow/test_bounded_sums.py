"""Adding or removing any user moves each sum by a length of at most 1: checked in whole numbers."""

from hypothesis import given
from hypothesis import strategies as st

from shared.methods_synthetic_bounded_sums import small_tables, square, sums_of


class TestOneUser:
    @given(small_tables(), st.floats(-1, 1), st.floats(0.05, 1))
    def test_removing_a_user_moves_no_sum_by_more_than_one(self, case, centre, spread):
        scale, users, place = case
        without = users[:place] + users[place + 1 :]
        before = sums_of(users, scale, centre, spread)
        after = sums_of(without, scale, centre, spread)
        for name, (sums, one) in before.items():
            assert square(sums - after[name][0]) <= one**2, name
