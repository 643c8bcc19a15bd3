"""A user opens many tabs while something runs: each answers, and each hears of the end."""

# More than a browser keeps open to one place.
N_TABS = 7


def test_many_tabs_of_something_that_runs(open_tab, served, table):
    with open_tab() as page:
        page.set_input_files("#file", table)
        page.wait_for_selector("#statistics")
        page.goto(f"{served.base}/choose")
        page.check("#shadows")
        page.click("text=Compare these")
        page.wait_for_selector("section.job")
        tabs = [page.context.new_page() for _ in range(N_TABS)]
        for tab in tabs:
            tab.goto(f"{served.base}/choose", timeout=20_000)
        assert all(tab.query_selector("section.job") for tab in tabs)
        page.bring_to_front()
        page.click("section.job button")
        for tab in tabs:
            tab.bring_to_front()
            tab.wait_for_selector("section.job", state="detached")
