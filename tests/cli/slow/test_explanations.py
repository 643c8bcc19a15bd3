"""--explain: what words mean stands below the result, and only words that stand in it."""

import re

import pytest

from shared.cli_explanations import AUDIT, folder, here, printed  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("few_recommenders")


LINES = {
    "audit": AUDIT,
    "audit of likes": "audit likes.csv --targets 10 --no-curves",
    "audit of a release": f"{AUDIT} --release out --second-release other",
    "audit of co-rated rows": f"{AUDIT} --release co-rated",
    "audit of drawn people": f"{AUDIT} --release drawn",
    "outside knowledge": f"{AUDIT} --auxiliary aux.csv",
    "anonymize": "anonymize ratings.csv -o again --k 4 --method sparse",
    "verify": "verify out",
    "verify co-rated rows": "verify co-rated",
    "verify drawn people": "verify drawn",
    "evaluate": "evaluate ratings.csv --release out --split 0.2 --targets 10 --all",
    "evaluate likes": "evaluate likes.csv --release liked --split 0.2 --targets 10 --no-membership",
    "compare": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10",
    "compare members": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10 "
    "--risk membership",
}
# Of the intervals, the bounds and what is not covered nothing may hide behind an option.
ALWAYS = {
    "audit": ["95% intervals", "a random guess gives"],
    "audit of likes": ["Here no dates are known", "Here the wrong entries are items"],
    "audit of a release": ["the guarantee is at most 25%", "95% intervals"],
    "verify": ["Not covered by this verdict"],
    "evaluate": ["on this one split", "depend on it more than on the values"],
    "compare": ["on this one split", "Not measured: membership inference with shadow releases"],
    "compare members": ["an adversary with shadow releases"],
}


def explained(text: str) -> tuple[str, list[str]]:
    """Return what stands above the meanings, and the words below that have one."""
    above, _, below = text.partition("\nTerms\n")
    return above, re.findall(r"^([^:\n]+): ", below, re.MULTILINE)


@pytest.mark.parametrize("name", LINES)
def test_only_words_of_the_result_are_explained(name, printed):
    above, words = explained(printed(f"{LINES[name]} --explain"))
    assert words
    assert len(words) == len(set(words))
    shown = " ".join(re.sub("[┃│]", " ", above).split())
    for word in words:
        assert word.lower() in shown.lower(), word
    for sentence in ALWAYS.get(name, []):
        assert sentence in shown


def test_the_audit_of_a_release_is_all_in_the_longer_one(printed):
    line = LINES["audit of a release"]
    above, _ = explained(printed(f"{line} --explain"))
    missing = set(printed(line).splitlines()) - set(above.splitlines())
    assert all(each.startswith(("--explain explains", "Wrote ")) for each in missing), missing


@pytest.mark.parametrize("name", ["verify", "compare"])
def test_nothing_but_meanings_hides_behind_the_option(name, printed):
    plain, (above, _) = printed(LINES[name]), explained(printed(f"{LINES[name]} --explain"))
    how_to_ask = r"^--explain explains the terms.*\n"
    assert name == "verify" or re.search(how_to_ask, plain, re.MULTILINE)
    said = re.sub(how_to_ask, "", plain, flags=re.MULTILINE).partition("Wrote ")[0]
    assert said.strip() == above.partition("\nWhat the adversaries know\n")[0].strip()
