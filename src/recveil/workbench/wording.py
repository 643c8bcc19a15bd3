"""Labels of the pages' fields, and messages in these words instead of the command line's."""

import html
import re

# Labels of reading options, for the fields of the page Data and for messages that name them.
FIELD_TITLES = {
    "user": "User",
    "item": "Item",
    "rating": "Rating",
    "time": "Time",
    "first_line_is": "The first line is",
    "scale": "Rating scale",
    "duplicates": "If a user rates an item more than once",
    "counts": "Ratings are counts or durations",
    "order": "Ordinal labels, lowest first",
    "words": "Nominal labels, without an order",
    "time_format": "Time format",
    "table": "Table of a database",
    "query": "Query of a database",
    "sheet": "Sheet of a workbook",
    "delimiter": "Column separator",
    "decimal": "Decimal separator",
    "null": "Missing value in a matrix",
    "format": "File format",
    "likes": "Implicit feedback",
    "drop_off_scale": "Drop rows without a rating",
    "drop_missing_ids": "Drop rows without ids",
    "wide": "A matrix",
    "allow_sparse_coverage": "Allow sparse coverage",
    "hide_items": "Hide item ids",
    "dates": "Dates of ratings",
    "date_range": "Public range of dates",
    "previous": "The earlier release",
    "reuse": "The earlier release",
    "users": "The file of users and their attributes",
    "attribute": "Columns",
    "sensitive_attribute": "A sensitive column",
    "item_table": "The file of items and their titles",
    "epsilon": "Epsilon",
    "releases": "Number of planned releases",
    "cohort": "Only users who joined in",
    "target_format": "Layout",
    "split": "Share of test ratings",
    "split_by": "Test ratings are",
    "public_items": "The list of items is public",
    "item_catalog": "The list of items is public",
    "max_risk": "The highest risk that you accept",
}

# An option after the parameter's name, as in: scale (--scale 1:5:1), or inside: (likes, --likes).
_NAMED = re.compile(r"\b([a-z][a-z_]*) \(--([a-z][a-z-]*)(?: ([^()]*))?\)")
_NAMED_INSIDE = re.compile(r"\b([a-z][a-z_]*), --([a-z][a-z-]*)\b")
_IN_PARENTHESES = re.compile(r" \(--[^()]*\)")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
# A style, which stays, or a text with an option
_TEXT = re.compile(r"(<style.*?</style>)|(?<=>)([^<>]*--[a-z][^<>]*)(?=<)", re.DOTALL)
# Verbs of the command line, and the pages that do the same.
_PAGES = {
    "inspect": "Data",
    "audit": "Risk",
    "compare": "Choose",
    "evaluate": "Choose",
    "anonymize": "Release",
    "forget": "Release",
    "describe": "Release",
    "verify": "Check",
}
# An unquoted command ends before the words that say what it does.
_AFTER_COMMAND = "again|leaves|measures|to|what|with|writes|wrote"
_COMMAND = re.compile(
    rf"“?\brecveil ({'|'.join(_PAGES)})(?![\w-])[^,;()]*?"
    rf"(?:”|(?=[,;()]| (?:{_AFTER_COMMAND})\b|\.(?: |$)|$))"
)
# Columns have menus of roles on the page Data, and no fields.
_BY_PLACE = re.compile(r"select it by place with (user|item|rating|time) \(--\1 (\d+)\)")
_BY_NAME = re.compile(r"name (it|one) with (user|item|rating|time) \(--\2\)")
# The format of a file decides whether it has a header.
_HEADER = re.compile(
    r"set format \(--format (?:.* if it is a row, or format .* if it holds names|csv-plain, or "
    r"\S+\))"
)
_CHOOSE_HEADER = f"choose names or data under “{FIELD_TITLES['first_line_is']}”"
_BOTH_IDS = "check user (--user), item (--item) and"
# A command of the shell that rewrites a file, with the condition for it
_SHELL = re.compile(
    r"(?:\. If it is \w+ \w+)?: (?:cat|tail|iconv|mysql|g?unzip|bunzip2|unxz|unzstd) .* > "
    r"(?:ratings|table|utf8)\.\w+(?: \([^()]*\))?"
)
# What Python and other programs do, with the clause that names them; pages read files alone.
_ELSEWHERE = re.compile(
    r"; or in Python, .*?(?=;|$)|\bin Python, .*?; or (?=write)| as in Python's \w+(?=,)"
    r"|read it with (?:pandas|numpy|scipy)\..*?; | with pandas\.\w+| with git lfs pull"
    r"|(?<=unpack it) \(\w+ FILE\)|(?<=unpack it once) \(\w+ .*?\)(?=,|$)"
    r"|(?<=, or), in a file,| in a file(?= with )"
)
# Two releases are audited by a command alone.
_SECOND = re.compile(r"; to measure it: recveil audit .*?(?=\.?$)")
# What can be named on the command line alone
_UNNAMED = re.compile(
    r"[,;](?: or)?(?: where [^,;]+,)? name another [\w ]+ \(--([a-z][a-z-]*)[^()]*\)"
    r"(?: if [^,;.]*)?"
)
# Verbs without a page, whose commands follow what they do
_WITHOUT_PAGE = "audit-lists|budget|config|convert|demo|generate|precompile|report|sample|selftest"
_OTHER_COMMAND = re.compile(
    rf": “?recveil (?:{_WITHOUT_PAGE})(?![\w-])[^;()]*?(?=[;()]|\.(?: |$)|$)"
    rf"| \(recveil (?:{_WITHOUT_PAGE})(?![\w-])[^()]*\)"
)
# The same page twice in a clause, or as two choices
_EITHER = re.compile(r"(the page [A-Z]\w+), or \1")
_TWICE = re.compile(r"(the page [A-Z]\w+)( \w+ \w+), and \1")


def page_words(message: str) -> str:
    """Replace the options of the command line in a message by the labels of the pages.

    >>> page_words("name the scale with scale (--scale 1:5:1), or set likes (--likes)")
    'name the scale with “Rating scale” (1:5:1), or set “Implicit feedback”'
    >>> page_words("101 rows were dropped (drop_off_scale, --drop-off-scale).")
    '101 rows were dropped (“Drop rows without a rating”).'
    >>> page_words("to check it: recveil verify a.b, recveil audit X --release a.b. Then go on")
    'to check it: the page Check, the page Check. Then go on'
    >>> page_words("“recveil audit X --shadows 9” measures that, and “recveil compare X” for all")
    'the page Choose measures that for all'
    >>> page_words("more (“recveil audit X --shadows 9”, or “recveil compare X --shadows 9”).")
    'more (the page Choose).'
    >>> page_words("rename one, or, in a file, select it by place with rating (--rating 3)")
    'rename one, or give column 3 the role “rating”'
    >>> page_words("it may hold times: name it with time (--time)")
    'it may hold times: give it the role “time”'
    >>> page_words("write them as JSON: cat FILE | python -c 'print(1)' > ratings.json; or else")
    'write them as JSON; or else'
    >>> page_words("publish one; to measure it: recveil audit X.")
    'publish one.'
    >>> page_words("raise the limit (--max-memory 8GB), or pass --dry-run")
    'raise the limit, or pass “dry run”'
    """

    def named(match: re.Match[str]) -> str:
        word, option, value = match.groups()
        if word != option.replace("-", "_"):
            return word
        return _title_of(option) + (f" ({value})" if value and option != "item-catalog" else "")

    def named_inside(match: re.Match[str]) -> str:
        word, option = match.groups()
        return _title_of(option) if word == option.replace("-", "_") else match[0]

    message = _UNNAMED.sub(
        lambda match: match[0] if match[1].replace("-", "_") in FIELD_TITLES else "", message
    )
    message = _HEADER.sub(_CHOOSE_HEADER, _SECOND.sub("", _SHELL.sub("", message)))
    message = _OTHER_COMMAND.sub("", _ELSEWHERE.sub("", message))
    message = _COMMAND.sub(lambda match: f"the page {_page_of(match)}", message)
    message = _EITHER.sub(r"\1", _TWICE.sub(r"\1\2", message))
    message = message.replace("run the page", "use the page").replace(". the page", ". The page")
    message = _BY_PLACE.sub(r"give column \2 the role “\1”", message)
    message = _BY_NAME.sub(r"give \1 the role “\2”", message)
    message = message.replace(_BOTH_IDS, "check the roles of the columns and")
    message = _NAMED_INSIDE.sub(named_inside, _NAMED.sub(named, message))
    return _OPTION.sub(lambda match: _title_of(match[1]), _IN_PARENTHESES.sub("", message))


def html_words(page: str) -> str:
    """Replace the options in the texts of an HTML page."""
    return _TEXT.sub(
        lambda match: match[1] or html.escape(page_words(html.unescape(match[2])), quote=False),
        page,
    )


def _page_of(command: re.Match[str]) -> str:
    """Return the page that does what a command does."""
    if command[1] == "audit" and "--shadows" in command[0]:
        return _PAGES["compare"]
    return _PAGES["verify" if command[1] == "audit" and "--release" in command[0] else command[1]]


def _title_of(option: str) -> str:
    if option == "targets":  # a noun, and no field
        return option
    return f"“{FIELD_TITLES.get(option.replace('-', '_'), option.replace('-', ' '))}”"
