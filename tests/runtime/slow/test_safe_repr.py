"""The repr of an object shows nothing private."""

from shared.runtime_safe_repr import SECRETS, each, folder, ratings, shown, ways_to_show  # noqa: F401 (fixtures)


class TestNothingPrivateIsShown:
    def test_neither_users_nor_items_nor_seed(self, shown):
        for name, things in shown.items():
            for text in (text for thing in each(things) for text in ways_to_show(thing)):
                assert not [secret for secret in SECRETS if secret in text], f"{name}: {text}"
