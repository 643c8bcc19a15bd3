"""Java says nothing on the terminal; what it says when it fails is reported in one line."""

import os
import subprocess
import sys

import pytest
from standalone_cluster import recveil_on

from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale
from recveil.spark.session import java_process

RATINGS = make_ratings(90, 40, 900, seed=3, scale=RatingScale(1, 5, 1))
OURS, OWN = "a session of ours", "a session of one's own"
# Both in one Python, in which the second session is begun as if there had been no other.
BOTH = f"""
import sys
from pyspark import SparkContext
from recveil.spark import verify

print("{OURS}", file=sys.stderr, flush=True)
assert verify(sys.argv[1], master="local[1]").holds
assert SparkContext._gateway is None
print("{OWN}", file=sys.stderr, flush=True)

from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
spark.stop()
"""


@pytest.fixture
def release(tmp_path):
    PredictiveAnonymizer(4, "simple", seed=7).anonymize(RATINGS).write(tmp_path / "out")
    return tmp_path / "out"


def test_spark_says_nothing_in_a_session_of_ours_and_all_in_one_s_own(spark, release):
    command = [sys.executable, "-c", BOTH, str(release)]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    ours, own = done.stderr.split(f"{OURS}\n")[1].split(f"{OWN}\n")
    assert ours == ""
    assert "Setting default log level" in own
    assert done.stdout == ""


def test_java_that_cannot_be_begun_is_reported_in_its_own_words(spark, release, tmp_path):
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho \"Unrecognized VM option 'X'\" >&2\nexit 1\n")
    java.chmod(0o755)
    job = recveil_on(
        "local[1]",
        {**os.environ, "JAVA_HOME": str(tmp_path / "java")},
        "verify",
        str(release),
    )
    said, _ = job.communicate(timeout=300)
    assert job.returncode == 2, said
    assert said.startswith("error: Spark: its Java process could not start (Unrecognized VM")
    assert said.count("\n") == 1


def test_java_that_runs_already_is_left_as_it_is(spark):
    from pyspark import SparkContext

    before = SparkContext._gateway
    with java_process() as java:
        assert java is None
    assert SparkContext._gateway is before
    assert spark.range(3).count() == 3
