"""The room Choose: settings are compared, asked about, and one of them is taken."""

import pytest

pytestmark = pytest.mark.usefixtures("few_recommenders")

ASKED = {"method-raw": "on", "method-sparse": "on", "ks": "3, 6"}


def test_without_a_table_it_says_where_to_bring_one(browser):
    assert '<a href="/data">Add one</a>' in browser.get("/choose").text


def test_what_can_be_compared_is_offered_first(browser, quick, small_table):
    browser.drop("shop.csv", small_table)
    browser.wait("data")
    page = browser.get("/choose").text
    assert 'name="method-raw" checked' in page
    assert 'name="method-synthetic-10" checked' in page
    assert 'name="method-padded-mdav">' in page
    assert 'name="method-rotation">' in page  # a baseline, which is not usual here


@pytest.mark.parametrize("form", [{"ks": "3"}, ASKED | {"ks": ""}, ASKED | {"ks": "three"}])
def test_what_cannot_be_compared_is_refused(browser, quick, small_table, form):
    browser.drop("shop.csv", small_table)
    browser.wait("data")
    assert browser.send("/choose/start", **form).status_code == 400
    assert browser.bench.project.last_job("choose") is None
