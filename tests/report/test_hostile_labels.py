"""Pages of data whose every label is hostile: nothing runs, and nothing is loaded."""

from shared.report_hostile_labels import EVIL, Page


def test_the_search_finds_what_it_looks_for():
    assert Page("<img src=x>").problems == ["img", "img src=x"]
    assert Page("<a href='http://x'>").problems == ["a href=http://x"]
    assert Page("<svg onload=x><a href='#there'>").problems == ["svg onload=x"]
    assert Page(f"<p>{EVIL}").problems != []
