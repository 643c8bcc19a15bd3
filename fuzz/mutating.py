"""How inputs are changed, where single bytes seldom get anywhere: lines, records, cards, parts.

All take bytes and a random number generator, and return other bytes.
"""

import random
import re

import pyarrow as pa
import pyarrow.parquet as pq

ODD = [
    *(b"0", b"-0", b"1", b"-1", b"2", b"3.5", b"1e400", b"nan", b"inf", b"", b'"', b'""', b"null"),
    *(b"true", b"9223372036854775807", b"9223372036854775808", b"0.1", b"5.0", b"1e-320", b"\xff"),
    *(b"1.7976931348623157e308", b"[]", b"{}", b"p0000-0", "\u0660".encode(), b"4294967296"),
]
RATINGS, CARD = b"\n=== ratings.csv\n", b"\n=== README.md\n"
SETTINGS = b'"settings": {\n'
# Other notations of a field, or of a line, with the same value.
FIELDS = [b" %b", b"%b ", b"0%b", b"+%b", b"%b.0", b"%b0", b"%be0", b'"%b"', b"0_%b"]
LINES = [b"%b\r", b"%b\n", b"\n%b", b"%b,", b"%b "]
# What may be added to a card, or removed from it.
WORDS = [b"not ", b"nobody ", b"5", b"alice is p0000-0", b" ", b"", b"\n", b"no"]


def change_lines(data: bytes, rng: random.Random) -> bytes:
    """Change whole lines, fields and numbers, as single bytes seldom do."""
    lines = data.split(b"\n")
    one, other = sorted(rng.choices(range(len(lines)), k=2))
    way = rng.randrange(6)
    if way == 0:  # take lines out
        del lines[one : one + rng.choice([1, 1, 2, 6])]
    elif way == 1:  # the same lines again
        lines[other:other] = lines[one : one + rng.choice([1, 1, 2, 6])]
    elif way == 2:
        lines[one], lines[other] = lines[other], lines[one]
    else:  # a field takes the place of another one, or a number changes
        own, theirs = (re.split(rb"([,:\t ]+)", lines[at]) for at in (one, other))
        at = rng.randrange(len(own))
        own[at] = rng.choice(theirs) if way < 5 else rng.choice(ODD)
        lines[one] = b"".join(own)
    return b"\n".join(lines)


def change_release(data: bytes, rng: random.Random) -> bytes:
    """Change a release in text: by lines, records, words, or how it is written."""
    ways = [change_lines, change_record, change_card, change_notation, change_settings]
    return rng.choice(ways)(data, rng)


def change_record(data: bytes, rng: random.Random) -> bytes:
    """Change what stands next to the labels in all lines of a record: its k, or its group_size.

    In one line of several it is found at once, and nothing is learned of what it means.
    """
    before, mark, rest = data.partition(RATINGS)
    rows, after, end = rest.partition(b"\n=== ")
    header, *lines = rows.split(b"\n")
    names, users = header.split(b","), [line.partition(b",")[0] for line in lines]
    if not any(users) or len(names) < 4:  # no ratings, or nothing next to their labels
        return change_lines(data, rng)
    user, column = rng.choice([user for user in users if user]), rng.randrange(3, len(names))
    number = b"%d" % rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 8, -1])
    for at, own in enumerate(users):
        fields = lines[at].split(b",")
        if own == user and len(fields) == len(names):
            lines[at] = b",".join([*fields[:column], number, *fields[column + 1 :]])
    return before + mark + b"\n".join([header, *lines]) + after + end


def change_card(data: bytes, rng: random.Random) -> bytes:
    """Change some words of the card."""
    before, mark, rest = data.partition(CARD)
    card, after, end = rest.partition(b"\n=== ")
    if not mark:
        return change_lines(data, rng)
    words = re.split(rb"(\s+)", card)
    words[rng.randrange(len(words))] = rng.choice([*WORDS, rng.choice(words)])
    return before + mark + b"".join(words) + after + end


def change_notation(data: bytes, rng: random.Random) -> bytes:
    """Write a field or a line of the ratings in another way."""
    before, mark, rest = data.partition(RATINGS)
    rows, after, end = rest.partition(b"\n=== ")
    lines = rows.split(b"\n")
    at = rng.randrange(len(lines))
    fields = lines[at].split(b",")
    if rng.random() < 0.3:
        lines[at] = rng.choice(LINES) % lines[at]
    else:
        column = rng.randrange(len(fields))
        fields[column] = rng.choice(FIELDS) % fields[column]
        lines[at] = b",".join(fields)
    if rng.random() < 0.1 and not lines[-1]:  # no last line end
        lines.pop()
    return before + mark + b"\n".join(lines) + after + end


def change_settings(data: bytes, rng: random.Random) -> bytes:
    """Change what release.json says of the method: a word more, another one, or one less."""
    before, mark, rest = data.partition(SETTINGS)
    settings, after, end = rest.partition(b"\n  }")
    lines = settings.split(b"\n")
    at, way = rng.randrange(len(lines)), rng.randrange(3)
    if not mark:
        return change_lines(data, rng)
    if way == 0:
        lines.insert(at, b'    "note": "alice is p0000-0",')
    elif way == 1 and len(lines) > 1:
        del lines[at]
        lines[-1] = lines[-1].rstrip(b",")
    else:
        name, _, value = lines[at].partition(b": ")
        other = rng.choice([b'"alice"', b"0.25", b"0", b"true", b"null", b'"Alice"', b"[]"])
        lines[at] = name + b": " + other + b"," * value.endswith(b",")
    return before + mark + b"\n".join(lines) + after + end


def change_parts(data: bytes, rng: random.Random) -> bytes:
    """Change a Parquet file: bytes before its footer, in its footer, or all of it anew."""
    if data[:4] != b"PAR1" or len(data) < 12:
        return data
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if not 4 <= end <= len(data) - 8 or rng.random() < 0.3:
        return rewritten(data, rng)
    values, footer = data[:end], data[end:-8]
    way = rng.randrange(4)
    if way == 0:  # bytes that belong to nothing
        values += rng.randbytes(rng.choice([1, 4, 16]))
    elif way == 1:
        values = changed_byte(values, rng, least=4)
    elif way == 2:
        footer = changed_byte(footer, rng)
    else:
        footer += rng.choice([b"\0", b"alice", rng.randbytes(3)])
    return values + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def changed_byte(part: bytes, rng: random.Random, least: int = 0) -> bytes:
    """Change one bit of a part, from some place on."""
    if len(part) <= least:
        return part
    at = rng.randrange(least, len(part))
    return part[:at] + bytes([part[at] ^ 1 << rng.randrange(8)]) + part[at + 1 :]


def rewritten(data: bytes, rng: random.Random) -> bytes:
    """Write the same values as recveil does not: with metadata, an index, or other pages."""
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        return data
    how = rng.choice(
        [
            {"write_page_index": True},
            {"store_schema": True},
            {"write_page_checksum": True},
            {"write_statistics": False},
            {"compression": "none"},
            {"data_page_version": "2.0"},
            {"row_group_size": 1 + table.num_rows // 2},
        ]
    )
    if rng.random() < 0.3:
        table = table.replace_schema_metadata({"owner": "alice is p0000-0"})
    sink = pa.BufferOutputStream()
    more = {"compression": "zstd", "store_schema": False, "use_dictionary": True}
    pq.write_table(table, sink, **more | how)
    return bytes(sink.getvalue())
