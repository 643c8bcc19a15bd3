import hashlib
import json
import random
import signal
import subprocess
import sys
import time

import pytest

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.verification import verify


@pytest.fixture(scope="module")
def release():
    return PredictiveAnonymizer(4, "simple", seed=918_273_645).anonymize(
        make_ratings(n_users=90, n_items=40, n_ratings=900, seed=3)
    )


def test_killed_at_any_moment_there_is_no_release_or_a_whole_one(tmp_path):
    source, output = tmp_path / "ratings.parquet", tmp_path / "out"
    write_ratings(make_ratings(n_users=800, n_items=300, n_ratings=30_000, seed=1), source)
    # Writing again and again, so that kills fall into writing more often than into starting up.
    program = (
        "import sys, time; from pathlib import Path\n"
        "from recveil.io import read_ratings\n"
        "from recveil.methods import PredictiveAnonymizer\n"
        "ratings = read_ratings(sys.argv[1])\n"
        "releases = [PredictiveAnonymizer(3).anonymize(ratings) for _ in range(2)]\n"
        "start = time.perf_counter()\n"
        "releases[0].write(sys.argv[2], force=True)\n"
        "print(time.perf_counter() - start, flush=True)\n"
        "while True:\n"
        "    for release in releases: release.write(sys.argv[2], force=True)\n"
    )
    chance = random.Random(7)
    whole = 0
    for _ in range(2):  # `make torture` kills hundreds
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(source), str(output)], stdout=subprocess.PIPE
        )
        seconds = float(process.stdout.readline())  # a busy machine takes longer
        time.sleep(chance.uniform(0, 3 * seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if output.exists():
            whole += 1
            assert verify(output).holds
            about = json.loads((tmp_path / "out.private" / "private.json").read_text())
            manifest = (output / "release.json").read_bytes()
            assert about["release"]["sha256"] == hashlib.sha256(manifest).hexdigest()
    assert whole > 0
