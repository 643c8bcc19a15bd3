"""What the fast and the slow tests of `test_hostile_labels.py` share."""

from html.parser import HTMLParser

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}&lt;"

TAGS = {"script", "img", "iframe", "object", "embed", "link", "base", "form", "audio", "video"}

LOADING = ("src", "srcset", "action", "formaction", "data", "poster", "background")


class Page(HTMLParser):
    """Collects what in a page could run or load something."""

    def __init__(self, text):
        super().__init__()
        self.problems, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.problems += [tag] if tag in TAGS else []
        for name, value in attributes:
            loads = name in LOADING or (name.endswith("href") and not (value or "").startswith("#"))
            if loads or name.startswith("on") or "javascript:" in (value or ""):
                self.problems.append(f"{tag} {name}={value}")

    def handle_data(self, text):
        self.texts.append(text)
