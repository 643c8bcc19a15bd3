"""The room Release: a release is made, checked, described and taken away; its twin is not."""

import re

import pytest


@pytest.fixture
def dropped(browser, quick, small_table):
    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    return browser


def release(browser):
    return next(job for job in browser.bench.project.jobs() if job.task == "release")


def test_without_a_table_it_says_where_to_bring_one(browser):
    assert '<a href="/data">Add one</a>' in browser.get("/release").text


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../out"},
        {"name": "/etc"},
        {"name": "a.private"},
        {"name": ""},
        {"k": "1"},
        {"k": "five"},
        {"method": "raw"},
        {"method": "gold"},
        {"file_format": "exe"},
    ],
)
def test_what_cannot_be_made_is_refused(dropped, wrong):
    form = {"method": "padded", "k": "4", "name": "first", "file_format": "csv"} | wrong
    answer = dropped.send("/release/make", **form)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text
    assert not (dropped.bench.project.folder / "releases" / "first").exists()


def test_what_guarantees_nothing_is_offered_last(dropped):
    page = dropped.get("/release").text
    main, _, more = page.partition("<summary>More methods</summary>")
    offered = re.findall(r'id="method-([^"]+)"', main)
    assert offered[:4] == ["sparse", "synthetic-1", "synthetic-3", "synthetic-10"]
    assert 'id="method-synthetic-exact"' in more
    assert "guarantees nothing" in more.partition('id="method-synthetic-exact"')[2][:300]


def test_noise_needs_a_named_scale(dropped):
    dropped.send("/release/make", method="synthetic-10", name="drawn", file_format="csv")
    dropped.wait("release")
    assert "name the scale" in dropped.get("/release").text
