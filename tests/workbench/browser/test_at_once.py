"""A user faster than the page: a dropped file is not lost, and missed events are shown."""

import json

import pytest


@pytest.fixture
def bare(browser, served):
    """A page of a browser that was let in; nothing is waited for."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_url("**/data")
    yield page
    context.close()


# Whatever a page has, this comes as soon as the field does, before the rest of the page.
AT_ONCE = """([how, name, text]) => {
    const observer = new MutationObserver(() => {
        const field = document.getElementById("file");
        if (!field || sessionStorage.getItem("done")) {
            return;
        }
        sessionStorage.setItem("done", "yes");
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], name));
        if (how === "drop") {
            const told = {dataTransfer, bubbles: true, cancelable: true};
            field.form.dispatchEvent(new DragEvent("drop", told));
        } else {
            field.files = dataTransfer.files;
            field.dispatchEvent(new Event("change", {bubbles: true}));
        }
    });
    observer.observe(document, {childList: true, subtree: true});
}"""


@pytest.mark.parametrize("room", ["data", "check"])
@pytest.mark.parametrize("how", ["drop", "choose"])
def test_a_file_that_comes_at_once_is_taken(bare, served, table, room, how):
    name = f"{how}-at-once.csv"
    result = json.dumps([how, name, table.read_text(encoding="utf-8")])
    bare.add_init_script(f"({AT_ONCE})({result})")
    bare.goto(f"{served.base}/{room}", wait_until="commit")
    bare.wait_for_selector(f".eyebrow >> text={name}" if room == "data" else f"h1 >> text={name}")


def test_a_file_is_taken_where_no_script_runs(browser, served, tmp_path, table):
    own = tmp_path / "by-hand.csv"
    own.write_bytes(table.read_bytes())
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_url("**/data")
    page.set_input_files("#file", str(own))
    page.click("#drop button")
    page.wait_for_selector(".eyebrow >> text=by-hand.csv")
    context.close()


def test_a_page_that_missed_the_end_shows_what_there_is(bare, served, tmp_path, table):
    """The end was reported once, and then the page could not be read: it asks again."""
    own = tmp_path / "missed.csv"
    own.write_bytes(table.read_bytes())
    failed = []

    def fail(route):
        is_of_htmx = "hx-request" in route.request.headers
        if is_of_htmx and len(failed) < 2:
            failed.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    bare.route("**/data", fail)
    bare.set_input_files("#file", str(own))
    bare.wait_for_selector(".eyebrow >> text=missed.csv")
    bare.wait_for_selector("#statistics")
    assert len(failed) == 2


def test_a_workbench_that_does_not_answer_is_reported(bare, served, tmp_path, table):
    own = tmp_path / "unheard.csv"
    own.write_bytes(table.read_bytes())
    bare.set_input_files("#file", str(own))
    bare.wait_for_selector(".eyebrow >> text=unheard.csv")
    bare.wait_for_selector("#statistics")
    bare.goto(f"{served.base}/choose")
    bare.wait_for_selector("#ks")
    bare.check("#shadows")
    bare.click("button:has-text('Compare these')")
    bare.wait_for_selector("section.job")
    assert bare.is_hidden("#offline")
    bare.route("**/progress?*", lambda route: route.abort())
    bare.wait_for_selector("#offline >> text=does not answer")
    bare.unroute("**/progress?*")
    bare.wait_for_selector("#offline", state="hidden")
    bare.click("section.job button")
    bare.wait_for_selector("section.job", state="detached")
