"""A file within a form: what came is handed on to the byte, wherever it was cut on the way."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from recveil.workbench.guard import FormFile, RefusedError

MARK = "----WebKitFormBoundaryX"
KIND = f"multipart/form-data; boundary={MARK}"
# Much that looks like the end of the file, and is not.
FILE = b"user,item\r\n--" + MARK.encode()[:-1] + b"\r\n\r\n--" + bytes(range(256)) + b"\r\n-"


def form(file=FILE, name="ratings.csv", change="secret"):
    return (
        f'--{MARK}\r\nContent-Disposition: form-data; name="change"\r\n\r\n{change}\r\n'
        f'--{MARK}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: text/csv\r\n\r\n"
    ).encode() + (file + f"\r\n--{MARK}--\r\n".encode())


def read(body, size, kind=KIND):
    """Read a form that comes in pieces of a size; return its fields, the name and the file."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]

    async def receive():
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def whole():
        sent = FormFile(receive, kind)
        fields, file = await sent.fields(), b""
        while (message := await sent.receive())["more_body"]:
            file += message["body"]
        return fields, sent.name, file + message["body"]

    with ThreadPoolExecutor(1) as other:  # in this one a browser's loop may go on
        return other.submit(asyncio.run, whole()).result()


@pytest.mark.parametrize("size", [1, 2, 7, 40, 41, 1_000, 10**6])
def test_the_file_is_as_it_was(size):
    assert read(form(), size) == ({"change": "secret"}, "ratings.csv", FILE)


@pytest.mark.parametrize("file", [b"", b"\r\n", b"--" + MARK.encode()])
def test_so_is_a_small_one(file):
    assert read(form(file), 5)[2] == file


def test_names_are_as_browsers_write_them():
    assert read(form(name="100%25 %22é%22.csv"), 9)[1] == '100%25 "é".csv'
    assert read(form(name=""), 9)[1] == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no form",
        form()[:60],
        form()[:-40],  # cut off within the file
        f"--{MARK}\r\nX: y\r\n\r\nz\r\n--{MARK}--\r\n".encode(),
        f"--{MARK}--\r\n".encode(),
        b"x" * 200_000,
        form(change="x" * 200_000),
    ],
)
def test_what_is_no_form_of_ours_is_refused(body):
    with pytest.raises(RefusedError):
        read(body or b" ", 1_000)


@pytest.mark.parametrize("kind", ["multipart/form-data", 'multipart/form-data; boundary="{}"'])
def test_so_is_one_that_does_not_say_where_it_ends(kind):
    with pytest.raises(RefusedError):
        read(form(), 1_000, kind)
