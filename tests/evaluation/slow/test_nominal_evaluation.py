"""Releases of words without an order, judged: words, lists of liked items, and attacks."""

import json
import shutil

from recveil.evaluation import evaluate
from shared.evaluation_nominal_evaluation import made  # noqa: F401 (fixtures)


def test_the_verb_splits_or_takes_two_files(made):
    found = [
        evaluate(made / "out", made / "words.csv", split=0.2),
        evaluate(made / "of_train", train=made / "train.csv", test=made / "test.csv"),
    ]
    for each in found:
        result = json.loads(json.dumps(each.to_dict(), allow_nan=False))
        assert 0 < result["row_accuracy"]["accuracy"]["mean"] < 1
        assert result["recipient"]["release"]["rmse"] is None
        assert any("no error and no distance" in note for note in result["notes"])


def test_without_the_private_folder_only_public_figures(made, tmp_path):
    shutil.copytree(made / "of_train", tmp_path / "alone")
    files = {"train": made / "train.csv", "test": made / "test.csv"}
    result = evaluate(tmp_path / "alone", **files, liked="up").to_dict()
    assert result["row_accuracy"] is None
    assert result["disclosure"] is None
    assert any("map of users to rows is unknown" in note for note in result["notes"])
    with_twin = evaluate(made / "of_train", **files, liked="up").to_dict()
    assert result["recipient"] == with_twin["recipient"]
