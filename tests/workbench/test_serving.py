"""The verb: a server on this machine alone, that ends when it is asked to."""

import os
import re
import socket
import subprocess
import sys

import pytest

from error_assertions import raises
from recveil.workbench import workbench
from shared.workbench_serving import address  # noqa: F401 (fixtures)


def test_it_listens_on_this_machine_alone(address):
    port = int(re.search(r":(\d+)/", address)[1])
    own = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None)}
    for other in own - {"127.0.0.1", "::1"}:
        with socket.socket(socket.AF_INET6 if ":" in other else socket.AF_INET) as asked:
            asked.settimeout(2)
            assert asked.connect_ex((other, port)) != 0, other


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can become somebody else")
@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells whose connection it is")
@pytest.mark.parametrize(
    ("family", "source"),
    [("AF_INET", "127.0.0.1"), ("AF_INET6", "::ffff:127.0.0.1"), ("AF_INET", "127.0.0.2")],
)
def test_no_other_user_gets_in_even_with_the_token(address, family, source):
    """A program of theirs that the browser was led to gets the cookie: ports share cookies."""
    host, port, query = re.search(r"http://([^:]+):(\d+)(/.*)", address).groups()
    to = (host, int(port)) if family == "AF_INET" else (f"::ffff:{host}", int(port))
    asks = (
        "import socket\n"
        f"asked = socket.socket(socket.{family})\n"
        f"asked.bind({(source, 0)!r})\n"
        f"asked.connect({to!r})\n"
        f"asked.sendall(b'GET {query} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n')\n"
        "print(asked.recv(4_096).decode())\n"
    )
    command = ["/usr/bin/env", "python3", "-c", asks]
    theirs = subprocess.run(command, capture_output=True, text=True, user=65_534, group=65_534)
    if "Permission denied" in theirs.stderr:
        pytest.skip("other users may run no Python here")
    assert " 403 " in theirs.stdout, theirs.stderr
    assert "set-cookie" not in theirs.stdout
    ours = subprocess.run(command, capture_output=True, text=True)
    assert " 200 " in ours.stdout, ours.stderr


def test_the_extra_is_named_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "starlette", None)
    with raises("dependency.missing"):
        workbench(tmp_path / "project")
    assert not (tmp_path / "project").exists()


def test_importing_it_needs_no_extra():
    program = (
        "import sys\n"
        "sys.modules |= {'starlette': None, 'uvicorn': None}\n"
        "import recveil.workbench, recveil.cli\n"
        "recveil.cli.app\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_port_that_is_taken_is_reported(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with raises("workbench.port"):
            workbench(tmp_path / "project", port=taken.getsockname()[1], open_browser=False)
    with raises("workbench.port"):
        workbench(tmp_path / "project", port=99_999, open_browser=False)
    assert not (tmp_path / "project").exists()
