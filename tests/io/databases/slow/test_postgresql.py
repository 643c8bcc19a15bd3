"""PostgreSQL: who may ask, what is said of it, and the same release as from the CSV."""

import json
import logging
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from recveil.cli import main
from recveil.io import understand
from shared.io_databases_postgresql import (
    QUOTED,
    fetched,
    guarded,
    server,  # noqa: F401 (fixtures)
)


class TestTheSameRelease:
    """A release from the database is that of the exported CSV, to the byte."""

    def test_nothing_reveals_where_it_comes_from(self, server, tmp_path, capsys, caplog):
        caplog.set_level(logging.DEBUG)
        source = guarded(server, QUOTED)
        folder = tmp_path / "out"
        given = ["--table", "votes", "--scale", "0.5:5:0.5"]
        with pytest.raises(SystemExit) as ended:
            main(["anonymize", source, "--output", str(folder), "--k", "5", *given])
        assert not ended.value.code
        pages = [tmp_path / "audit.html", tmp_path / "audit.json"]
        written = ["--html", str(pages[0]), "--json", str(pages[1])]
        with pytest.raises(SystemExit) as ended:
            main(["audit", source, *given, "--targets", "5", *written])
        assert not ended.value.code
        result = capsys.readouterr()
        texts = [result.out, result.err, caplog.text, repr(understand(source, table="votes"))]
        texts += [
            file.read_bytes().decode("utf-8", "replace")
            for file in tmp_path.rglob("*")
            if file.is_file()
        ]
        place = server.partition("host=")[2]
        for secret in ("guarded", "geheim", "postgresql://", place):
            assert not any(secret in text for text in texts), secret
        assert json.loads(pages[1].read_text())["data"]["source"] == "PostgreSQL"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "slow",
    [
        "pg_sleep(60)",
        # Rows come, and then none for a while.
        "generate_series(1, 99999) n WHERE pg_sleep(CASE n WHEN 99000 THEN 60 ELSE 0 END)::text "
        "IS NOT NULL",
    ],
)
def test_a_signal_ends_a_long_query(number, slow, server, tmp_path):
    query = f'SELECT 1 AS "user", 2 AS item, 3 AS rating FROM {slow}'
    command = [sys.executable, "-m", "recveil", "convert", server, "--query", query]
    command.append(str(tmp_path / "out.csv"))
    # Programs that run us in the background may ignore them, and so do the processes that we start.
    hears = partial(signal.signal, number, signal.SIG_DFL)
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, preexec_fn=hears, **streams) as run:
        for _ in range(600):
            asked = (
                "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%pg_sleep(%60%' "
                "AND pid <> pg_backend_pid()"
            )
            if fetched(server, asked):
                break
            time.sleep(0.1)
        run.send_signal(number)
        _, result = run.communicate(timeout=30)
    assert run.returncode == 128 + number, result.decode()
    how = "Interrupted" if number == signal.SIGINT else "Terminated"
    assert result.decode().startswith(how)
    # The server does not go on without a client.
    assert not fetched(server, asked)
