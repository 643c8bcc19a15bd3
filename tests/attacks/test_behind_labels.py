"""Of very many labels, those of some records are looked at, and it is said."""

from recveil.attacks import AttackTarget
from recveil.attacks.inference.companions import measure_possible_ratings
from recveil.auditing.release_attacks import Content
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.report.audit.disclosure import statements_of_content


def test_some_records_stand_for_all(monkeypatch):
    ratings = make_ratings(n_users=300, n_items=60, n_ratings=6_000, seed=2)
    release = PredictiveAnonymizer(5, "simple", seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    whole = measure_possible_ratings(ratings, table, are_means=True, grid=0.1)
    assert whole.records == whole.of_records == table.candidates.n_records
    monkeypatch.setattr("recveil.attacks.inference.companions.MOST_VALUES", table.values.size // 3)
    some = measure_possible_ratings(ratings, table, are_means=True, grid=0.1)
    assert some.records < some.of_records / 2
    for name in ("whole_exact", "one_rating", "sure"):
        assert getattr(some, name).low <= getattr(whole, name).rate <= getattr(some, name).high
    result = [each.sentence for each in statements_of_content(Content((), None, some))]
    assert f"sample of {some.records} of {some.of_records} records" in result[-1]
