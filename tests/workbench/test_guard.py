"""Who may speak to the workbench, and what its answers say."""

import pytest

from recveil.workbench.guard import POLICY

HERE = "http://127.0.0.1:8765"
NEXT_DOOR = "http://127.0.0.1:9999"


class TestWhoGetsIn:
    @pytest.mark.parametrize("place", ["/", "/data", "/risk", "/jobs/1/progress", "/nowhere"])
    def test_no_client_without_the_token(self, outside, place):
        answer = outside.get(place)
        assert answer.status_code == 403
        assert "token" in answer.text

    @pytest.mark.parametrize("token", ["", "wrong", "ü", "a" * 10_000])
    def test_no_client_with_a_wrong_one(self, outside, token):
        answer = outside.get(f"/?token={token}")
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers

    def test_the_token_becomes_a_cookie_that_only_we_are_sent(self, outside):
        answer = outside.get(f"/?token={outside.bench.keys.token}")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert outside.bench.keys.token not in cookie + answer.text
        assert answer.headers["refresh"] == "0; url=/"
        assert outside.get("/data").status_code == 200

    def test_a_cookie_of_another_workbench_is_none(self, outside):
        outside.client.cookies.set("recveil-8765", "of another start")
        assert outside.get("/data").status_code == 403

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "", "[::1]:8765"]
    )
    def test_no_client_under_a_foreign_name(self, browser, host):
        """A name that is led to this machine: DNS rebinding."""
        assert browser.client.get("/data", headers={"host": host}).status_code == 400
        token = browser.bench.keys.token
        answer = browser.client.get(f"/?token={token}", headers={"host": host})
        assert answer.status_code == 400

    def test_localhost_is_our_name_too(self, browser):
        answer = browser.client.get(
            "/data",
            headers={
                "host": "localhost:8765",
                "cookie": f"recveil-8765={browser.bench.keys.session}",
            },
        )
        assert answer.status_code == 200


class TestWhoChangesSomething:
    @pytest.mark.parametrize("origin", ["http://evil.example", "null", NEXT_DOOR, HERE + ".evil"])
    def test_no_foreign_page(self, browser, origin):
        fields = {"change": browser.bench.keys.change, "place": "/etc/passwd"}
        answer = browser.client.post("/data/name", data=fields, headers={"origin": origin})
        assert answer.status_code == 403
        assert browser.client.get("/data", headers={"origin": origin}).status_code == 403
        assert browser.bench.project.inputs() == []

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_no_page_next_door_reads_or_sends(self, browser, site):
        """Another port of this machine is the same site, and sends our cookie."""
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "cors"}
        assert browser.client.get("/data", headers=headers).status_code == 403
        fields = {"change": browser.bench.keys.change}
        answer = browser.client.post("/risk/start", data=fields, headers=headers)
        assert answer.status_code == 403

    def test_no_form_without_our_secret(self, browser):
        headers = {"origin": HERE}
        for fields in ({"place": "x.csv"}, {"place": "x.csv", "change": "wrong"}):
            answer = browser.client.post("/data/name", data=fields, headers=headers)
            assert answer.status_code == 403
        for kind in ("application/octet-stream", "application/json", "text/plain"):
            answer = browser.client.put(
                "/data/upload", content=b"x", headers=headers | {"content-type": kind}
            )
            assert answer.status_code == 403
        assert browser.bench.project.inputs() == []

    def test_no_request_that_does_not_say_where_it_comes_from(self, browser):
        fields = {"change": browser.bench.keys.change, "place": "x.csv"}
        assert browser.client.post("/data/name", data=fields).status_code == 403

    def test_no_form_that_is_larger_than_ours(self, browser):
        answer = browser.send("/data/name", place="x" * 100_000)
        assert answer.status_code == 413
        many = {f"field{at}": "x" for at in range(500)}
        assert browser.send("/data/name", **many).status_code == 400

    @pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE"])
    def test_no_other_method(self, browser, method):
        assert browser.client.request(method, "/data").status_code == 405

    def test_a_change_is_never_read(self, browser):
        for place in ("/data/name", "/data/reading", "/risk/start", "/jobs/1/cancel"):
            assert browser.get(place).status_code == 405


class TestEveryAnswer:
    @pytest.mark.parametrize("place", ["/data", "/nowhere", "/static/look.css", "/static/none.js"])
    def test_lets_nothing_in_from_elsewhere(self, browser, place):
        headers = browser.get(place).headers
        assert headers["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"

    def test_refusals_say_it_too(self, outside):
        assert outside.get("/data").headers["content-security-policy"] == POLICY

    def test_an_error_reveals_nothing_of_the_implementation(self, browser, monkeypatch):
        def fail(*_):
            raise ZeroDivisionError("secret-ann divided")

        monkeypatch.setattr(browser.bench.project, "inputs", fail)
        answer = browser.get("/data")
        assert answer.status_code == 500
        for secret in ("secret-ann", "Traceback", "ZeroDivision", ".py", "starlette"):
            assert secret not in answer.text
        assert "fault" in answer.text

    def test_static_files_are_ours_alone(self, browser):
        places = ("/static/../workspace.py", "/static/%2e%2e/workspace.py", "/static//etc/passwd")
        for place in places:
            assert browser.get(place).status_code == 404
        for name in ("htmx.min.js", "workbench.js", "workbench.css"):
            assert browser.get(f"/static/{name}").status_code == 200


@pytest.mark.parametrize(
    "place",
    [
        "none.js",
        "..%2fdata",
        "%2e%2e/data",
        "x" * 5_000,
        "%00",
        "",
        "look.css/x",
        "%f0%9f",
        "a%0ab",
    ],
)
def test_what_any_client_may_load_reveals_nothing_of_the_project(outside, place):
    bench = outside.bench
    bench.project.add_input("patients-ann.csv", "/data/patients-ann.csv")
    answer = outside.get(f"/static/{place}")
    assert answer.status_code in (404, 500)
    for secret in (bench.keys.change, bench.keys.session, "patients", str(bench.project.folder)):
        assert secret not in answer.text
    assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("number", ["9" * 23, "9" * 5_000])
@pytest.mark.parametrize(
    "place",
    [
        "/jobs/{}/events",
        "/risk/{}/audit.html",
        "/choose/{}/comparison.html",
        "/release/{}/download",
    ],
)
def test_there_is_no_page_of_a_number_that_no_database_holds(browser, place, number):
    assert browser.get(place.format(number)).status_code == 404


def test_each_start_has_secrets_of_its_own():
    from recveil.workbench.guard import Keys

    keys = [Keys(), Keys()]
    secrets = {secret for each in keys for secret in vars(each).values()}
    assert len(secrets) == 6
    assert min(map(len, secrets)) > 40
