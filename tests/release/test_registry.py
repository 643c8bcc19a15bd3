"""What is registered is checked, and nothing unknown inherits the words of something else."""

import hashlib
import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from error_assertions import raises
from recveil.attacks.attack_target import AttackTarget
from recveil.auditing import audit
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import KCoRater, PredictiveAnonymizer, anonymize
from recveil.methods.registry import Maker, forget, register
from recveil.release.claim import Claim, claim_kind, forget_claim, register_claim
from recveil.release.data_card import data_card
from recveil.release.earlier_formats import class_list_header, with_names_of, with_todays_names
from recveil.release.manifest import COUNTS, FORMAT, FORMATS, Manifest, to_bytes
from recveil.release.method import Option
from recveil.release.registry import command_options, forget_method, register_method, variant_of
from recveil.release.specs.predictive import PREDICTIVE
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("few_recommenders")

RATINGS = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=5)

TOY = replace(PREDICTIVE, name="toy", title="toy", first_format=2, options=(), variants=())


@contextmanager
def registered(maker):
    register(maker)
    try:
        yield maker
    finally:
        forget(maker)


def manifest_of(content):
    number = FORMATS.index(content["format"]) + 1
    return Manifest.from_json(with_todays_names(content, number))


def rewrite(folder, change):
    """Change release.json, and let the twin and the card agree."""
    content = json.loads((folder / "release.json").read_text())
    change(content)
    name = next(iter(content["files"]))
    card = data_card(manifest_of(content), name).encode()
    (folder / "README.md").write_bytes(card)
    content["files"]["README.md"] = {
        "sha256": hashlib.sha256(card).hexdigest(),
        "bytes": len(card),
    }
    (folder / "release.json").write_bytes(to_bytes(content))
    private = folder.with_name(f"{folder.name}.private") / "private.json"
    result = json.loads(private.read_text())
    result["release"]["sha256"] = hashlib.sha256(to_bytes(content)).hexdigest()
    private.write_text(json.dumps(result))


@pytest.mark.parametrize(
    ("anonymizer", "change", "result", "code"),
    [
        ("simple", {"settings": {"homogenize": "foo"}}, "'foo'", "release.damaged"),
        ("simple", {"settings": {"extra": "zzz"}}, "'extra'", "release.damaged"),
        ("simple", {"claim": "co-rated"}, "'co-rated'", "release.damaged"),
        ("simple", {"claim": "nothing"}, "'nothing'", "claim.unknown"),
        ("simple", {"layout": "foo"}, "layout", "release.damaged"),
        ("simple", {"settings": {"method": "names removed"}}, "'names removed'", "release.damaged"),
        ("k-corating", {"settings": {"protect": "foo"}}, "'foo'", "release.damaged"),
        ("k-corating", {"claim": "identical-rows"}, "'identical-rows'", "release.damaged"),
    ],
)
def test_what_contradicts_the_settings_is_neither_attacked_nor_judged(
    anonymizer, change, result, code, tmp_path
):
    makers = {
        "simple": PredictiveAnonymizer(4, "simple", seed=1),
        "k-corating": KCoRater(4, seed=1),
    }
    out = tmp_path / "out"
    makers[anonymizer].anonymize(RATINGS).write(out)
    content = json.loads((out / "release.json").read_text())
    content["settings"] |= change.get("settings", {})
    content |= {name: value for name, value in change.items() if name != "settings"}
    (out / "release.json").write_bytes(to_bytes(content))
    for ask in (
        lambda: audit(RATINGS, release=out, targets=5, curves=False),
        lambda: evaluate(out, RATINGS, split=0.3, targets=5, with_membership=False),
    ):
        with raises(code) as error:
            ask()
        assert result in str(error.value)


def test_an_old_format_knows_no_newer_method(tmp_path):
    """Its card's words are those of its time: another method would get padded's."""
    with registered(Maker(TOY, PredictiveAnonymizer)):
        release = PredictiveAnonymizer(4, seed=1).anonymize(RATINGS)
        settings = release.published.settings | {"method": "toy"}
        settings_of_toy = replace(release.published, settings=settings)
        toy = replace(release, published=settings_of_toy)
        with raises("claim.false"):
            toy.write(tmp_path / "out")  # the setting "method" has another value there
    release.write(tmp_path / "old")

    def older(content):
        del content["counts"]["duplicates_dropped"]
        content.update(with_names_of(1, content), format="recveil-release-1")
        content["files"]["classes.csv"] = {
            "sha256": hashlib.sha256(classes).hexdigest(),
            "bytes": len(classes),
        }

    file = tmp_path / "old" / "classes.csv"
    classes = file.read_bytes().replace(class_list_header(9), class_list_header(1))
    file.write_bytes(classes)
    rewrite(tmp_path / "old", older)
    assert verify(tmp_path / "old").holds
    with registered(Maker(replace(TOY, settings=PREDICTIVE.settings[1:]), PredictiveAnonymizer)):
        rewrite(tmp_path / "old", lambda content: content["settings"].update(method="toy"))
        problems = [violation.problem for violation in verify(tmp_path / "old").violations]
    assert any("'toy' is unknown to releases of this format" in problem for problem in problems)


def test_in_an_old_format_another_method_keeps_its_own_words(tmp_path):
    """The words of that format surround them; of the methods that come with recveil none are."""
    words = '{% extends "card" %}{% block learned %}- X\n{% endblock %}'
    toy = replace(TOY, card=words + "{% block not_promised %}- Y\n{% endblock %}")
    with registered(Maker(toy, PredictiveAnonymizer)):
        manifest = Manifest(
            claim=Claim("identical-rows", 4),
            layout="groups",
            settings={"method": "toy"},
            scale=RATINGS.scale,
            counts=dict.fromkeys(COUNTS["recveil-release-2"], 4),
            format="recveil-release-2",
        )
        old, new = (
            data_card(replace(manifest, format=form), "ratings.csv")
            for form in ("recveil-release-2", FORMAT)
        )
    assert "\n## What is not guaranteed\n\n- X\n- Y\n- Two releases" in new
    assert "\n## What is not promised\n\n- X\n- Y\n- Anything about two" in old
    assert "At least **4** users share each record" in new
    assert "label for label, by at least **4** people" in old
    assert "That it is hidden" not in old


def test_the_default_of_one_method_changes_no_other(tmp_path):
    option = replace(PREDICTIVE.option("homogenize"), default="simple")
    diverse = replace(PREDICTIVE.option("l"), default=3)
    with registered(Maker(replace(TOY, options=(option, diverse)), PredictiveAnonymizer)):
        made = anonymize(
            RATINGS, tmp_path / "out", k=4, method="predictive", seed=1, homogenize="simple", l=3
        )
    assert made.release.published.settings["homogenize"] == "simple"
    assert made.release.published.claim.l == 3


@pytest.mark.parametrize("name", ["seed", "layout", "scale", "user", "json"])
def test_an_option_cannot_take_the_name_of_a_parameter(name):
    maker = Maker(replace(TOY, options=(Option(name, "What it does."),)), PredictiveAnonymizer)
    with raises("argument.value", f"'{name}'"):
        register(maker)
    with raises("method.unknown") as error:
        forget_method(TOY)
    assert "'toy'" in str(error.value)


def test_an_option_of_one_name_is_of_one_kind():
    with raises("argument.value") as error:
        register_method(replace(TOY, options=(Option("b", "Some share.", float, flag="--b"),)))
    assert "'b'" in str(error.value)


def test_words_without_a_maker_make_nothing(tmp_path):
    register_method(TOY)
    try:
        with raises("method.unsupported", "'toy'"):
            anonymize(RATINGS, tmp_path / "out", k=4, method="toy")
    finally:
        forget_method(TOY)


def test_a_promise_is_called_so_by_one_kind_of_claim():
    for promise in ("k-anonymity", "nothing"):
        kind = replace(claim_kind("identical-rows"), name="mine", promise=promise)
        with raises("argument.value"):
            register_claim(kind)
    with raises("claim.unknown") as error:
        forget_claim("mine")
    assert "'mine'" in str(error.value)


def test_a_variant_claims_what_its_releases_claim(tmp_path):
    variant = replace(variant_of("simple"), name="mislabelled", claim="co-rated")
    maker = Maker(replace(TOY, variants=(variant,)), PredictiveAnonymizer)
    with registered(maker):
        (row,) = compare(RATINGS, tmp_path / "c", methods=["mislabelled"], k=[4], targets=5).rows
    assert "its release claims 'identical-rows', but 'co-rated' is registered" in row.problem
    unknown = replace(variant, claim="zzz")
    with raises("claim.unknown") as error:
        register(Maker(replace(TOY, variants=(unknown,)), PredictiveAnonymizer))
    assert "'zzz'" in str(error.value)


def test_fills_are_struck_out_where_a_claim_says_that_there_are_some():
    assert AttackTarget.from_release(KCoRater(4, seed=1).anonymize(RATINGS), RATINGS).co_rated
    kind = replace(claim_kind("co-rated"), name="mine", promise="mine", holds_fills=False)
    register_claim(kind)
    try:
        release = KCoRater(4, seed=1).anonymize(RATINGS)
        published = replace(release.published, claim=replace(release.published.claim, kind="mine"))
        table = AttackTarget.from_release(replace(release, published=published), RATINGS)
        assert not table.co_rated
    finally:
        forget_claim("mine")


@pytest.mark.parametrize("name", ["simple", "padded", "synthetic-10"])
def test_the_name_of_a_setting_leads_to_its_options(tmp_path, name):
    with raises("method.unknown", command_options(name)):
        anonymize(RATINGS, tmp_path / "out", k=4, method=name)
