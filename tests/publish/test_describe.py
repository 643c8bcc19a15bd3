"""A release in the words of data portals."""

import hashlib
import json
import re
import shutil

import numpy as np
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import PredictiveAnonymizer
from recveil.methods.nominal import NominalAnonymizer
from recveil.publish import describe
from recveil.publish._describe import check_croissant
from recveil.publish.croissant import VERSION
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest_reader import known_manifest
from recveil.verification import verify
from shared.publish_describe import MADE, RATINGS, described, folder, found, judged, made, padded  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


CARD = """
title = "Ratings of a library </script><b>"
publisher = "Public Library"
contact = "data@example.org"
licence = "https://creativecommons.org/licenses/by/4.0/"
date = 2026-01-31
keywords = ["ratings", "anonymized"]
"""


class TestEveryRelease:
    def test_names_each_file_as_it_is(self, folder):
        result = described(folder)
        listed = {entry["@id"]: entry for entry in result["distribution"]}
        assert set(listed) == {file.name for file in folder.iterdir()}
        for name, entry in listed.items():
            content = (folder / name).read_bytes()
            assert entry["sha256"] == hashlib.sha256(content).hexdigest()
            assert entry["contentSize"] == f"{len(content)} B"
            assert entry["contentUrl"] == f"out/{name}"

    def test_names_each_column(self, folder):
        result = described(folder)
        columns = json.loads((folder / "release.json").read_text())["layout"]
        if columns == "model":
            assert "recordSet" not in result
            return
        file = next(folder.glob("ratings.*"))
        import pandas as pd

        frame = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
        fields = result["recordSet"][0]["field"]
        assert [field["name"] for field in fields] == list(frame.columns)
        assert {field["source"]["fileObject"]["@id"] for field in fields} == {file.name}

    def test_says_what_is_not_promised_wherever_it_says_what_is(self, folder):
        result = described(folder)
        limits = result["rai:dataLimitations"]
        assert len(limits) >= 2
        assert all(limit.startswith("Not guaranteed. ") for limit in limits)
        _, *stated = result["rai:personalSensitiveInformation"]
        assert [each.partition(": ")[0] for each in stated[:3]] == [
            *("Singling out", "Linkability", "Inference")
        ]
        assert stated[3:] == limits
        assert "what is not guaranteed" in result["description"]
        readme = " ".join((folder / "README.md").read_text().split())
        for limit in limits:
            words = limit.removeprefix("Not guaranteed. ")
            assert words in readme.replace("**", "").replace("`", "")

    def test_its_description_is_what_follows_from_it(self, folder):
        for card in (None, CARD, CARD + 'url = "https://example.org/data"\n'):
            described(folder, card)
            assert check_croissant(folder, folder.parent / "croissant.json") == []

    def test_nothing_private_and_nothing_of_this_machine(self, folder):
        described(folder)
        text = (folder.parent / "croissant.json").read_text()
        for private in ("secret", str(folder.parent), "/tmp", ".private"):
            assert private not in text
        # A digest may hold any three digits.
        if not re.search(r"\b918\b", (folder / "release.json").read_text()):
            assert not re.search(r"\b918\b", text)

    def test_the_release_stays_as_it_was(self, folder):
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        described(folder)
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
        assert verify(folder).holds

    def test_the_same_bytes_each_time_and_without_the_private_folder(self, folder, tmp_path):
        described(folder, CARD)
        first = (folder.parent / "croissant.json").read_bytes()
        shutil.copytree(folder, tmp_path / "out")
        described(tmp_path / "out", CARD)
        assert (tmp_path / "croissant.json").read_bytes() == first

    def test_mlcroissant_finds_nothing_wrong(self, folder):
        mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
        described(folder, CARD)
        data = mlc.Dataset(jsonld=folder.parent / "croissant.json")
        assert not data.metadata.ctx.issues.errors
        assert str(data.metadata.ctx.conforms_to.value) == VERSION


class TestCard:
    def test_its_words_stand_there(self, padded):
        result = described(padded, CARD)
        assert result["name"] == "Ratings of a library </script><b>"
        assert result["publisher"] == {"@type": "sc:Organization", "name": "Public Library"}
        assert result["license"] == "https://creativecommons.org/licenses/by/4.0/"
        assert result["datePublished"] == "2026-01-31"
        assert result["keywords"] == ["ratings", "anonymized"]
        assert result["sc:contactPoint"]["description"] == "data@example.org"

    def test_nothing_ends_a_script_that_it_stands_in(self, padded):
        described(padded, CARD)
        assert not re.search("[<>&]", (padded.parent / "croissant.json").read_text())

    def test_what_was_not_said_is_not_made_up(self, padded, monkeypatch):
        for name in ("USER", "LOGNAME", "EMAIL", "HOSTNAME"):
            monkeypatch.setenv(name, "j.doe")
        result = described(padded)
        names = {"license", "datePublished", "creator", "publisher", "url", "version", "citeAs"}
        assert not names & set(result)
        assert result["name"] == "out"
        assert "j.doe" not in json.dumps(result)

    def test_an_address_stands_before_the_files(self, padded, tmp_path):
        card = tmp_path / "card.toml"
        card.write_text('url = "https://example.org/data/out/"\n')
        describe(padded, tmp_path / "croissant.json", card=card)
        result = json.loads((tmp_path / "croissant.json").read_text())
        assert result["distribution"][0]["contentUrl"].startswith(
            "https://example.org/data/out/rat"
        )

    @pytest.mark.parametrize(
        ("card", "name", "code"),
        [
            ('license = "MIT"', "'license'", "settings.value"),
            ('colour = "red"', "'colour'", "settings.value"),
            ("title = 7", "'title'", "settings.value"),
            ('title = "' + "x" * 201 + '"', "'title'", "settings.value"),
            ('title = "a\\u202Eb"', "'title'", "settings.value"),
            ('title = "a\\u0000b"', "'title'", "settings.value"),
            ('date = "yesterday"', "'date'", "settings.value"),
            ("date = 2026-01-31T10:00:00Z", "'date'", "settings.value"),
            ('url = "file:///etc/passwd"', "'url'", "settings.value"),
            ('url = "https://me:secret@example.org/"', "'url'", "settings.value"),
            ('url = "https://example.org/?token=1"', "'url'", "settings.value"),
            ('keywords = "a"', "'keywords'", "settings.value"),
            ("keywords = [1]", "'keywords'", "settings.value"),
            ("title", "bad.toml", "settings.file"),
            ("x = [" * 20_000, "bad.toml", "settings.file"),
            ('[title]\na = "b"', "'title'", "settings.value"),
        ],
    )
    def test_what_makes_no_sense_is_refused_in_one_line(self, padded, card, name, code):
        target = padded.parent / "refused.json"
        (padded.parent / "bad.toml").write_text(card)
        with raises(code) as refused:
            describe(padded, target, card=padded.parent / "bad.toml")
        assert name in str(refused.value)
        assert len(str(refused.value)) < 300
        assert "\n" not in str(refused.value)
        assert not target.exists()

    def test_a_card_that_is_not_there(self, padded):
        with raises("settings.file") as error:
            describe(padded, padded.parent / "x.json", card=padded.parent / "gone.toml")
        assert "gone.toml" in str(error.value)


class TestAudit:
    def test_what_was_measured_is_stated(self, padded, found):
        file, result = found
        describe(padded, padded.parent / "measured.json", audit=file, force=True)
        text = (padded.parent / "measured.json").read_text()
        said = json.loads(text)["rai:personalSensitiveInformation"]
        sentences = [result["release"]["headline"], *result["release"]["verdict"]]
        assert {f"Measured by the publisher: {each}" for each in sentences} <= set(said)
        assert "secret" not in text

    def test_the_three_risks_lead_without_names_of_attributes(self, padded, found, tmp_path):
        result = found[1]
        line = dict(result["risks"]["inference"], name="attribute by row", adversary="parish")
        line["sentence"] = "Inference: parish is inferred with AUC 0.75; without the row: 0.74."
        lines = {**result["risks"], "inference": line}
        (tmp_path / "a.json").write_text(json.dumps({**result, "risks": lines}))
        describe(padded, padded.parent / "r.json", audit=tmp_path / "a.json", force=True)
        text = (padded.parent / "r.json").read_text()
        said = json.loads(text)["rai:personalSensitiveInformation"]
        measured = [each for each in said if each.startswith("Measured by the publisher: ")]
        prefix = len("Measured by the publisher: ")
        assert measured[0][prefix:] == lines["singling_out"]["sentence"]
        assert measured[1][prefix:] == lines["linkability"]["sentence"]
        assert measured[2].endswith("inferred with AUC 0.75; without the row: 0.74.")
        assert "parish" not in text
        describe(
            *(padded, padded.parent / "r.json"),
            audit=tmp_path / "a.json",
            column_names=True,
            force=True,
        )
        assert "parish" in (padded.parent / "r.json").read_text()

    def test_of_another_release_is_refused(self, found, tmp_path):
        PredictiveAnonymizer(5, seed=918_273).anonymize(RATINGS).write(tmp_path / "other")
        with raises("release.mismatch") as error:
            describe(tmp_path / "other", tmp_path / "x.json", audit=found[0])
        assert "other" in str(error.value)

    def test_a_second_release_is_not_described(self, padded, found, tmp_path):
        """Its name alone says that there is one."""
        result = json.loads(found[0].read_text())
        result["release"]["linkage"] = {"name": "out_old_ann"}
        both = tmp_path / "both.json"
        both.write_text(json.dumps(result))
        with raises("release.refused"):
            describe(padded, padded.parent / "x.json", audit=both)

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"release": null}', '{"release": {}}'])
    def test_what_is_none_is_refused(self, padded, tmp_path, content):
        (tmp_path / "audit.json").write_text(content)
        with raises("input.not-a-result"):
            describe(padded, padded.parent / "x.json", audit=tmp_path / "audit.json")


class TestUnpaid:
    """Figures of an audit are computed from real users, which no epsilon covers."""

    def result(self, folder, off_scale, name):
        release = {
            "sha256": known_manifest(folder).sha256,
            "headline": "AUC 0.59.",
            "verdict": [],
            "warnings": [],
            "linkage": None,
        }
        data = {"columns": {"user": "u", "item": "i"}, "off_scale_dropped": off_scale}
        file = folder.parent / "drawn audit.json"
        file.write_text(json.dumps({"release": release, "data": data}))
        describe(folder, folder.parent / name, audit=file, force=True)
        return (folder.parent / name).read_text("utf-8")

    @pytest.mark.parametrize("name", ["c.json", "page.md"])
    def test_of_others_nothing_is_said_of_epsilon(self, padded, name):
        text = self.result(padded, 3, name)
        assert "because the rating was off the scale: 3." in text
        assert "epsilon was paid" not in text


class TestEvaluation:
    def test_mlcroissant_reads_it(self, padded, found, judged):
        mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
        target = padded.parent / "measured.json"
        describe(padded, target, audit=found[0], evaluation=judged[0], force=True)
        read = mlc.Dataset(jsonld=target).metadata
        assert not read.ctx.issues.errors
        assert judged[1]["headline"] in str(read.data_use_cases)

    def test_what_was_not_measured_is_not_made_up(self, padded):
        assert "rai:dataUseCases" not in described(padded)

    def test_words_without_an_order(self, tmp_path):
        scale = RatingScale.of_labels("up,down", ordered=False)
        users, said = MADE.user_positions(), np.where(MADE.values > 3, "up", "down")
        words = Ratings.from_columns(users, MADE.indices, said, scale=scale)
        NominalAnonymizer(4, seed=1).anonymize(words).write(tmp_path / "out")
        found = evaluate(tmp_path / "out", words, split=0.2)
        (tmp_path / "e.json").write_text(json.dumps(found.to_dict()))
        describe(tmp_path / "out", tmp_path / "c.json", evaluation=tmp_path / "e.json")
        result = json.loads((tmp_path / "c.json").read_text())["rai:dataUseCases"]
        assert "each item's most frequent label, which needs no release" in result[1]

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"release_sha256": "x"}', "7"])
    def test_what_is_none_is_refused(self, padded, tmp_path, content):
        (tmp_path / "e.json").write_text(content)
        with raises("input.not-a-result") as no:
            describe(padded, padded.parent / "x.json", evaluation=tmp_path / "e.json")
        assert len(str(no.value)) < 300
        assert not (padded.parent / "x.json").exists()

    @pytest.mark.parametrize(
        "wrong",
        [{"disclosure": "x"}, {"split": "x"}, {"notes": 7}, {"notes": [7]}, {"headline": None}],
    )
    def test_what_makes_no_sense_is_refused(self, padded, judged, tmp_path, wrong):
        (tmp_path / "e.json").write_text(json.dumps(judged[1] | wrong))
        with raises("input.not-a-result") as no:
            describe(padded, padded.parent / "x.json", evaluation=tmp_path / "e.json")
        assert "e.json" in str(no.value)
        assert len(str(no.value)) < 300
        assert not (padded.parent / "x.json").exists()

    def test_an_audit_is_no_evaluation_and_the_other_way_round(self, padded, found, judged):
        for name, file in {"evaluation": found[0], "audit": judged[0]}.items():
            with raises("input.not-a-result") as error:
                describe(padded, padded.parent / "x.json", **{name: file})
            assert name in str(error.value)

    def test_a_text_that_hides_something_is_refused(self, padded, judged, tmp_path):
        result = judged[1] | {"headline": "It keeps\u202e all."}
        (tmp_path / "e.json").write_text(json.dumps(result))
        with raises("input.not-a-result") as error:
            describe(padded, padded.parent / "x.json", evaluation=tmp_path / "e.json")
        assert "U+202E" in str(error.value)


@pytest.mark.parametrize("what", ["audit", "evaluation"])
def test_figures_of_a_release_with_the_same_settings_are_refused(what, found, judged, tmp_path):
    other = make_ratings(n_users=60, n_items=20, n_ratings=500, seed=3, scale=RATINGS.scale)
    PredictiveAnonymizer(4, seed=918_273).anonymize(other).write(tmp_path / "other")
    file = found[0] if what == "audit" else judged[0]
    with raises("release.mismatch") as error:
        describe(tmp_path / "other", tmp_path / "x.json", **{what: file})
    assert what in str(error.value)
    assert not (tmp_path / "x.json").exists()


class TestOrigin:
    """What is reported of the owner's table: its columns, and what was left out."""

    def result(self, folder, **options):
        audited = {"audit": folder / "audit.json"}
        describe(folder / "out", folder / "c.json", **audited, **options, force=True)
        text = (folder / "c.json").read_text()
        return text, json.loads(text)["rai:dataPreprocessingProtocol"]

    def test_names_of_columns_where_they_are_asked_for(self, made):
        text, said = self.result(made[0], column_names=True)
        assert "user: 'acme_member'; item: 'acme_film'; rating: 'acme_stars'" in said[1]
        assert "salaries" not in text

    def test_names_are_stated_by_an_audit_alone(self, padded):
        with raises("option.required"):
            describe(padded, padded.parent / "x.json", column_names=True)


class TestPage:
    def page(self, folder, **options):
        (folder.parent / "card.toml").write_text(CARD)
        target = folder.parent / "card.md"
        describe(folder, target, card=folder.parent / "card.toml", force=True, **options)
        return target.read_text()

    def test_all_of_the_card_stands_there(self, folder):
        page = self.page(folder)
        _, _, rest = (folder / "README.md").read_text().partition("\n")
        assert rest.strip() in page
        for said in ("Publisher: Public Library", "Contact: data@", "Published: 2026-01-31"):
            assert said in page
        digest = hashlib.sha256((folder / "release.json").read_bytes()).hexdigest()
        assert digest in page.rsplit("\n\n", 1)[-1]
        assert str(folder.parent) not in page
        assert "secret" not in page

    def test_words_are_text_and_nothing_more(self, padded):
        assert self.page(padded).startswith(r"# Ratings of a library \</script\>\<b\>")

    def test_what_was_measured(self, padded, found, judged):
        page = self.page(padded, audit=found[0], evaluation=judged[0])
        _, _, risk = page.partition("## Measured risk, as stated by the publisher")
        risk, _, utility = risk.partition("## Retained utility, as stated by the publisher")
        assert found[1]["release"]["headline"].replace("*", r"\*") in risk
        assert judged[1]["headline"] in utility
        plain = self.page(padded)
        assert "as measured by the publisher" not in plain

    def test_the_same_bytes_each_time(self, padded):
        assert self.page(padded) == self.page(padded)


class TestWhatIsRefused:
    def test_a_release_that_does_not_hold(self, padded, tmp_path):
        shutil.copytree(padded, tmp_path / "out")
        with (tmp_path / "out" / "README.md").open("a") as file:
            file.write("Nobody can be found.\n")
        with raises("claim.false"):
            describe(tmp_path / "out", tmp_path / "croissant.json")
        assert not (tmp_path / "croissant.json").exists()

    def test_a_place_in_the_release(self, padded):
        with raises("output.place"):
            describe(padded, padded / "croissant.json")

    def test_another_private_folder(self, padded, tmp_path):
        with raises("output.place"):
            describe(padded, tmp_path / "croissant.json")

    def test_standard_output(self, padded):
        with raises("output.place"):
            describe(padded, "-")

    def test_an_older_file_unasked(self, padded):
        described(padded)
        with raises("output.exists", "croissant.json"):
            described(padded, force=False)


@pytest.mark.parametrize("name", ["a b%20#?", "a:b", "a\nb"])
def test_the_address_of_a_file_is_one_whatever_its_folder_is_called(tmp_path, name):
    from urllib.parse import unquote, urlsplit

    PredictiveAnonymizer(4, seed=1).anonymize(RATINGS).write(tmp_path / name)
    describe(tmp_path / name, tmp_path / "croissant.json")
    plain = json.loads((tmp_path / "croissant.json").read_text())
    for file in plain["distribution"]:
        parts = urlsplit(file["contentUrl"])
        assert (parts.scheme, parts.query, parts.fragment) == ("", "", "")
        assert unquote(parts.path) == f"{name}/{file['name']}"


class TestADescriptionThatVerifyChecks:
    """What a Croissant file says of a release follows from the release, or is the publisher's."""

    @pytest.fixture
    def verified(self, padded, capsys):
        def run(change):
            result = described(padded, CARD)
            file = padded.parent / "croissant.json"
            change(result)
            file.write_text(json.dumps(result), "utf-8")
            with pytest.raises(SystemExit) as stop:
                main(["verify", str(padded), "--croissant", str(file), "--json", "-"])
            found = json.loads(capsys.readouterr().out)
            return stop.value.code, [each["problem"] for each in found["violations"]]

        return run

    def test_the_publisher_s_own_words_are_theirs(self, verified):
        assert verified(lambda result: result.update(description="Ours.", license="none")) == (
            0,
            [],
        )

    def test_texts_that_nothing_checks_are_named(self, padded, capsys):
        file = padded.parent / "texts.json"
        describe(padded, file)
        result = json.loads(file.read_text())

        def describe_uncovered():
            with pytest.raises(SystemExit) as stop:
                main(["verify", str(padded), "--croissant", str(file), "--json", "-"])
            assert stop.value.code == 0
            return json.loads(capsys.readouterr().out)["not_covered"][-1]

        assert "description" not in describe_uncovered()
        file.write_text(json.dumps(result | {"description": "Nobody is found.", "license": "none"}))
        assert "texts (name, description, license) and" in describe_uncovered()

    def test_its_remedy_is_a_command_that_works(self, padded, verified):
        code, problems = verified(lambda result: result["distribution"].pop())
        assert (code, problems[0].rpartition("; ")[2]) == (1, "run recveil describe again")
        file = padded.parent / "croissant.json"
        with pytest.raises(SystemExit) as stop:
            main(["describe", str(padded), str(file), "--force"])
        assert stop.value.code == 0
        assert check_croissant(padded, file) == []

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (lambda result: result["distribution"][0].update(sha256="0" * 64), "distribution"),
            (lambda result: result["distribution"].pop(), "distribution"),
            (lambda result: result["distribution"][0].pop("contentUrl"), "distribution"),
            (lambda result: result["recordSet"][0]["field"][2].update(name="stars"), "recordSet"),
            (lambda result: result.pop("rai:dataLimitations"), "rai:dataLimitations"),
            (
                lambda result: result.update({"rai:dataManipulationProtocol": "k = 500"}),
                "rai:dataManipulationProtocol",
            ),
            (
                lambda result: result["rai:personalSensitiveInformation"].insert(
                    0, "Nobody is found."
                ),
                "rai:personalSensitiveInformation",
            ),
            (
                lambda result: result["rai:personalSensitiveInformation"].append(
                    "Nobody is found."
                ),
                "a sentence on privacy",
            ),
            (lambda result: result.update({"rai:dataBiases": "none"}), "'rai:dataBiases'"),
        ],
    )
    def test_what_contradicts_the_release_is_named(self, verified, change, named):
        code, problems = verified(change)
        assert code == 1
        assert problems[0].startswith(named)

    @pytest.mark.parametrize("content", ["", "[]", "{", '{"name": 1, "name": 2}'])
    def test_a_file_that_is_none(self, padded, content, tmp_path, capsys):
        (tmp_path / "c.json").write_text(content)
        with pytest.raises(SystemExit) as stop:
            main(["verify", str(padded), "--croissant", str(tmp_path / "c.json")])
        assert stop.value.code in (1, 2)
        assert "Traceback" not in capsys.readouterr().err

    def test_without_a_release_there_is_nothing_to_compare_it_with(self, tmp_path):
        (tmp_path / "r.csv").write_text("user,item,rating\n1,1,1\n2,1,1\n")
        with raises("release.not-found"):
            check_croissant(tmp_path, tmp_path / "r.csv")
