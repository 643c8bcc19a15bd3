"""Errors are short, whatever they quote."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.io import read_levels, read_ratings, read_trust
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

LONG = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1).map(
    lambda text: text * (1 + 2_000 // len(text))
)


def refused(read, *arguments, **options):
    """Whatever is wrong: the message is short, and no other error comes out."""
    with pytest.raises(RecveilError) as caught:
        read(*arguments, **options)
    assert 0 < len(str(caught.value)) < 300


@settings(max_examples=40, deadline=None)
@given(LONG)
@pytest.mark.filterwarnings("ignore::UserWarning")  # two columns are likes, which is said
def test_errors_are_short_however_long_the_data(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("long")
    word = re.sub(r"\s", "_", text)
    path = folder / "ratings.csv"
    for content in (
        json.dumps([{"user": text, "rating": text}]),
        word,
        "user,item,rating\n" + word.replace(",", "") + ",1,x\n",
        f"{word},{word},{word},{word},{word}",
        f"user,item,rating\n1,1,{word}\n",
        f'user,item,rating\n"{text}\n',
        f"1::{word}\n",
        f"7:\n{word}\n",
    ):
        path.write_bytes(content.encode())
        for read, arguments in (
            (read_ratings, ()),
            (read_levels, (np.arange(3), 1)),
            (verify, ()),
        ):
            options = {"k": 2} if read is verify else {}
            message = ""
            try:
                read(path, *arguments, **options)
            except RecveilError as error:
                message = str(error)
            assert len(message) < 300
    same = {"user": [text, text], "item": [text, text], "rating": [1, 2]}
    refused(Ratings.from_frame, pa.table(same))
    refused(Ratings.from_frame, pa.table({text: [1], f"{text}b": [2], f"{text}c": [3]}))
    refused(Ratings.from_frame, pa.table(same | {"rating": [text, text]}))
    refused(Ratings.from_frame, pa.table(same | {"time": [text, text]}), time="time")
    refused(Ratings.from_frame, pa.table(same), user=text)
    refused(RatingScale.parse, text + "x")
    path.write_bytes(f"user_id,k\n{word},x\n".encode())
    refused(read_levels, path, np.arange(3), 1)
    path.write_bytes(f"user_id,{word}\n1,1\n".encode())
    refused(read_levels, path, np.arange(3), 1)
    path.write_bytes(f"a b {word}x\n".encode())
    refused(read_trust, path, np.arange(3))
    refused(read_ratings, folder / text[:60] / text[:60])
    refused(read_ratings, folder / text)
    refused(read_ratings, path, format=text)
