"""What outlives the one who serves it, and who is not let in."""

import http.client
import signal
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest


def test_a_project_outlives_a_kill_in_the_middle(open_tab, served, table):
    with open_tab() as page:
        page.set_input_files("#file", str(table))
        page.wait_for_selector("#statistics")
        page.goto(f"{served.base}/choose")
        page.wait_for_selector("#ks")
        page.fill("#ks", "4")
        page.click("button:has-text('Compare these')")
        page.wait_for_selector(".job")
    served.end(signal.SIGKILL)
    served.start()
    with open_tab() as page:
        page.wait_for_selector("#statistics")  # the table is still there
        page.goto(f"{served.base}/choose")
        page.wait_for_selector("[data-state=stopped]")
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for box in page.query_selector_all(".methods input"):
            box.set_checked(box.get_attribute("name") == "method-sparse")
        page.click("button:has-text('Compare these')")
        page.wait_for_selector(".dot")


def test_the_old_token_opens_nothing_after_a_restart(browser, served):
    old = served.address.partition("token=")[2]
    served.end()
    served.start()
    context = browser.new_context()
    answer = context.new_page().goto(f"{served.base}/?token={old}")
    assert answer.status == 403
    context.close()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "[::1]:80"])
def test_another_host_is_refused(served, host):
    assert _status(served, {"Host": host}) == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_another_origin_is_refused(served, origin):
    assert _status(served, {"Origin": origin}) == 403


def _status(served, headers):
    host = served.base.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=30)) as connection:
        connection.putrequest("GET", f"/?{served.address.partition('?')[2]}", skip_host=True)
        for name, value in ({"Host": host} | headers).items():
            connection.putheader(name, value)
        connection.endheaders()
        with connection.getresponse() as answer:
            return answer.status


class _Foreign(BaseHTTPRequestHandler):
    """A page of another account on this machine."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>foreign</title><p>Look at our cats.")

    def log_message(self, *_):
        pass


@pytest.fixture
def foreign():
    with HTTPServer(("127.0.0.1", 0), _Foreign) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_another_page_of_the_same_browser_reads_and_changes_nothing(browser, served, foreign):
    context = browser.new_context()
    own = context.new_page()
    own.goto(served.address)
    own.wait_for_url("**/data")  # the cookie is there
    page = context.new_page()
    page.goto(foreign)
    read = page.evaluate(
        "address => fetch(address, {credentials: 'include'}).then(() => 'read', () => 'refused')",
        f"{served.base}/data",
    )
    assert read == "refused"
    with page.expect_navigation() as sent:
        page.evaluate(
            """address => {
                const form = document.createElement("form");
                form.method = "post";
                form.action = address;
                document.body.append(form);
                form.submit();
            }""",
            f"{served.base}/data/choose",
        )
    assert sent.value.status == 403
    context.close()
