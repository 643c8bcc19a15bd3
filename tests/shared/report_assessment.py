"""A release with its audit, and the words of a page."""

import html
import json
import re

import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.io.write import write_ratings
from recveil.methods import anonymize


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assessment")
    ratings = make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3)
    write_ratings(ratings, folder / "ratings.csv")
    for seed, name in enumerate(("out", "other")):
        anonymize(folder / "ratings.csv", folder / name, k=4, method="sparse", seed=seed)
    found = audit(folder / "ratings.csv", release=folder / "out", targets=60, curves=False)
    (folder / "audit.json").write_text(json.dumps(found.to_dict()))
    return folder


def words_of(page):
    text = re.sub(r"<[^>]+>", " ", page[page.index("<body>") :])
    return " ".join(html.unescape(text).split())
