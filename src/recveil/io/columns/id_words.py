"""Words, numbers and escapes of a text, so that ids are found in it in any notation."""

import re
import unicodedata
from collections.abc import Iterator
from html import unescape

import numpy as np

WORD = re.compile(r"[^\W_]+")
# What programs write for delimiters of files and for line breaks.
ESCAPED = re.compile(
    r"\\(?:[nrtvfN]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[0-3][0-7]{2}|0)|%[01][\da-fA-F]|%2[Cc]|%3[Bb]"
    r"|%7[Cc]|&#(?:\d{1,2}|x[\da-fA-F]{1,2});|<br */?>"
    # As Excel writes them.
    r"|_x00(?:[01][\da-fA-F]|2[Cc]|3[Bb]|7[Cc])_"
)
ESCAPES = re.compile(r"[\\%&<]|_x00")
_ENCODED = re.compile(r"[\\%&<=]|_x00")
_MINUS = "-\u2212\u2013"
_PERCENT, _PRINTABLE = re.compile(r"%([\da-fA-F]{2})"), re.compile(r"=([\dA-F]{2})")
_WRITTEN = re.compile(r"\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2})")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
# Whole numbers in groups of three digits, and with an exponent.
_GROUPED = re.compile(r"(?<![\w.,'])\d{1,3}(?:[,']\d{3})+(?!\w)")
_EXPONENT = re.compile(r"(?<![\w.])\d\.\d+[eE]\+?\d{1,2}(?!\w)")
# A whole number with decimals that are all 0.
_WHOLE = re.compile(r"(?<![\w.])(\d+)\.0+(?!\w|\.\d)")


def decode_escapes(text: str) -> str:
    r"""Return a text without percent encoding, entities, and escapes of control characters.

    Examples
    --------
    >>> decode_escapes(r"i7\tu%5F2&amp;4")
    'i7\nu_2&4'
    """
    text = _without_entities(text)
    text = _PRINTABLE.sub(lambda found: chr(int(found[1], 16)), text)
    return ESCAPED.sub("\n", text)


def _without_entities(text: str) -> str:
    if "\\" in text:
        text = _WRITTEN.sub(lambda found: _letter(found[0]), text)
    for _ in range(3):  # percent signs may be encoded again
        decoded = _PERCENT.sub(lambda found: chr(int(found[1], 16)), unescape(text))
        if decoded == text:
            break
        text = decoded
    return text


def _letter(escape: str) -> str:
    """Return the letter or digit that an escape encodes, or another escape as it is."""
    letter = chr(int(escape[2:], 16))
    return letter if letter.isalnum() else escape


def decoded_forms(text: str) -> list[str]:
    r"""Return a text as it is, without escapes, and with whole numbers as digits.

    Examples
    --------
    >>> decoded_forms("i7%7C1,004"), decoded_forms("1.004e3|i7")
    (['i7%7C1,004', 'i7|1,004', 'i7|1004'], ['1.004e3|i7', '1004|i7'])
    """
    forms = [text]
    if _ENCODED.search(text):
        forms += [ESCAPED.sub("\n", _without_entities(text)), decode_escapes(text)]
    return [*dict.fromkeys((*forms, *map(with_plain_numbers, forms)))]


def with_plain_numbers(text: str) -> str:
    """Return a text without separators of thousands, and without exponents of whole numbers."""
    if "," in text or "'" in text:
        text = _GROUPED.sub(lambda found: re.sub("[,']", "", found[0]), text)
    if "e" not in text and "E" not in text:
        return text
    return _EXPONENT.sub(lambda found: _without_exponent(found[0]), text)


def _without_exponent(number: str) -> str:
    value = float(number)
    return str(int(value)) if value.is_integer() and value < 2**53 else number


def fold(text: str) -> str:
    """Return a text in small letters, without characters that cannot be seen, and without ``.0``.

    Examples
    --------
    >>> fold("U12: 1003.0")
    'u12: 1003'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(each for each in text if unicodedata.category(each) != "Cf")
    text = text.casefold()
    return _WHOLE.sub(r"\1", text) if ".0" in text else text


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, without zeros in front of numbers.

    Examples
    --------
    >>> words_of("m0004 by 007")
    ('m4', 'by', '7')
    """
    return tuple(WORD.findall(_ZEROS.sub("", text) if "0" in text else text))


def words_of_id(each: object) -> tuple[str, ...]:
    """Return the words of an id as `fold` and `words_of` do, but faster for numbers."""
    text = str(each)
    if text.isdecimal() and text[0] != "0":
        return (text,)
    return words_of(fold(text))


def numbers_within(text: str) -> Iterator[tuple[set[int], set[float]]]:
    """Yield which words are a number, and what it may be: with its sign and decimals, or not.

    Examples
    --------
    >>> [(at, sorted(values)) for at, values in numbers_within("a -4,5")]
    [({1}, [-4.0, 4.0]), ({1, 2}, [-4.5, 4.5]), ({2}, [5.0])]
    """
    spans = [word.span() for word in WORD.finditer(text)]
    for at, (begin, end) in enumerate(spans):
        if not text[begin:end].isdecimal():
            continue
        sign = -1 if begin and text[begin - 1] in _MINUS else 1
        points = text[:begin][-1:] in (".", ",") and not text[: begin - 1][-1:].isdecimal()
        whole = float(text[begin:end])
        values = {whole, sign * whole} if sign < 0 else {whole}
        if points:  # as in .5 and -.5
            part = float(f".{text[begin:end]}")
            values |= {_single(part), _single(-part)}
        last = at + 1
        if last < len(spans) and end + 1 == spans[last][0] and text[end] in ".,":
            decimals = text[slice(*spans[last])]
            if decimals.isdecimal():
                yield {at}, values
                number = float(f"{text[begin:end]}.{decimals}")
                values = {_single(number), _single(sign * number)}
                yield {at, last}, values
                continue
        yield {at}, values


def _single(number: float) -> float:
    """Return a number as ratings keep it."""
    return float(np.float32(number))
