"""What is promised of any release: any ratings, method and settings that can be thought of.

Each is checked by recveil and by the second checker, which shares nothing with it. With
RECVEIL_TORTURE=1 there are many more of them.
"""

import independent
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.methods import Synthesizer
from recveil.verification import verify
from shared.methods_guarantees import ANY, TORTURE, forms, tables, texts_of, written


@settings(ANY, max_examples=100 if TORTURE else 3)
@given(ratings=tables(20), epsilon=st.sampled_from([None, 1_000.0]), form=forms, data=st.data())
def test_drawn_users(ratings, epsilon, form, data):
    n_users = data.draw(st.none() | st.integers(1, 9))

    def make(seed):
        seed = seed if epsilon is None else None
        return Synthesizer(epsilon, n_users=n_users, item_catalog="as-rated", seed=seed).anonymize(
            ratings
        )

    with written(make, 10**15, ("users", form[1])) as out:
        if out is None:
            return
        verdict = verify(out, private=f"{out}.private")
        assert (verdict.holds, verdict.private_found) == (True, [])
        assert list(independent.problems(out)) == []
        published = "\n".join(texts_of(out))
        assert [user for user in map(str, ratings.users) if user in published] == []
