"""The repr of an object shows nothing private."""

import dataclasses
import re

import pytest
from sklearn import config_context

from recveil.clustering import KGather
from recveil.methods import PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.predict import FunkSVD, TrustKNN
from shared.runtime_safe_repr import SECRETS, SEED, each, folder, ratings, shown, ways_to_show  # noqa: F401 (fixtures)


class TestNothingPrivateIsShown:
    def test_no_array_of_numbers(self, shown):
        """Who is in which group are numbers, too."""
        for name, things in shown.items():
            for text in (text for thing in each(things) for text in ways_to_show(thing)):
                assert "array" not in text, f"{name}: {text}"
                assert not re.search(r"\d+[, ]+\d+[, ]+\d+[, ]+\d+", text), f"{name}: {text}"

    def test_rich_shows_no_more(self, shown):
        from rich.pretty import pretty_repr

        for name, things in shown.items():
            for text in map(pretty_repr, each(things)):
                assert not [secret for secret in SECRETS if secret in text], f"{name}: {text}"


class TestShort:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("releases", "Release(predictive anonymization, claim: identical-rows, k: 3, users"),
            ("private", "Private(for the publisher alone, users: 60)"),
            ("groups", "Groups(users: 60, groups: "),
            ("anonymized", "Anonymized(identical-rows holds, k: "),
            ("verification", "Verification(identical-rows holds, k: "),
            ("audit", "Audit(users: 60, ratings: "),
            ("evaluation", "Evaluation(users: "),
            ("comparison", "Comparison(users: 60, ratings: "),
            ("violations", "Violation(one row)"),
            ("figures", "Figure(Fig. 4, points: 99)"),
            ("rows", "Row("),
        ],
    )
    def test_a_line_states_counts_and_verdict(self, shown, name, words):
        first = each(shown[name])[0]
        assert repr(first).startswith(words)
        assert "\n" not in repr(first)
        assert len(repr(first)) < 200

    @pytest.mark.parametrize("seed", [None, 0, SEED])
    @pytest.mark.parametrize("only_changed", [True, False])
    def test_no_value_is_shown_for_a_seed(self, seed, only_changed):
        shown = [
            KGather(3, random_state=seed),
            FunkSVD(seed=seed),
            TrustKNN(links=seed),
        ]
        with config_context(print_changed_only=only_changed):
            for estimator in shown:
                before = estimator.get_params()
                text = repr(estimator) + estimator._repr_html_()
                assert not re.search(r"seed|random_state|links", text)
                assert estimator.get_params() == before

    def test_an_anonymizer_shows_its_parameters_but_no_private_seed(self):
        assert repr(Synthesizer(3, seed=7)) == "Synthesizer(epsilon=3, seed=7)"  # never written
        assert repr(Synthesizer(None, seed=7)) == "Synthesizer(epsilon=None, seed=<private>)"
        assert repr(SparseRows(5, seed=7)) == "SparseRows(k=5, seed=<private>)"
        levels = PredictiveAnonymizer(2, privacy_levels=[2, 3, 2])
        assert repr(levels) == "PredictiveAnonymizer(k=2, privacy_levels=<3 values>)"

    def test_results_show_a_table_that_loads_nothing(self, shown):
        for things in shown.values():
            for thing in each(things):
                html = getattr(thing, "_repr_html_", lambda: "")()
                assert len(html) < 2_000
                assert not re.search(r"<(script|link|img|iframe|style)|http|src=|href=", html)

    def test_what_stands_in_a_table_is_escaped(self, shown):
        published = dataclasses.replace(
            each(shown["published"])[0], settings={"method": "<script>alert(1)</script>"}
        )
        assert "<script" not in published._repr_html_()
        assert "&lt;script&gt;" in published._repr_html_()

    def test_a_verdict_that_fails_says_so(self, shown):
        text = repr(shown["verification of the raw table"])
        assert text.startswith("Verification(identical-rows does not hold, k: 1 (2 required)")
