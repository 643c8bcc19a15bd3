"""Spark is started where possible, and its errors are reported in our words."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import recveil.spark.session as spark_sessions
from error_assertions import raises
from recveil.ratings import RatingScale
from recveil.spark import anonymize
from recveil.spark.session import _translate, spark_errors_translated, spark_session

pytest.importorskip("pyspark", reason="the extra [spark] is not installed")

STARS = RatingScale(1, 5, 1)


def test_errors_of_an_executor_keep_their_text():
    text = "Job aborted.\n  File x\nrecveil.RecveilError: disk: no room; make room\n\tat java"
    assert _translate(text) == "disk: no room; make room"


def test_errors_of_other_python_are_reported_without_a_traceback():
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 3, in work\n    f()\nValueError: two of them\nand more\n\tat java'
    )
    assert _translate(text) == "Spark: ValueError: two of them; fix that, and run it again"


def test_a_session_with_settings_of_its_own_is_as_it_was_afterwards(
    spark, frame, own_settings, tmp_path
):
    given = {
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
    }
    for name, value in given.items():
        own_settings(name, value)
    made = anonymize(frame, tmp_path / "out", k=5, method="k-corating", scale=STARS, seed=1)
    assert made.verification.holds
    assert {name: spark.conf.get(name) for name in given} == given


def test_the_last_cause_is_reported():
    text = "Job aborted due to stage failure\nCaused by: java.io.IOException: No space left\n\tat x"
    assert _translate(text).startswith("Spark: java.io.IOException: No space left")


def test_errors_of_java_are_reported_without_the_call():
    text = "An error occurred while calling None.x.JavaSparkContext.\n: java.io.Y: no /logs\n\tat x"
    assert _translate(text) == "Spark: java.io.Y: no /logs; fix that, and run it again"


def test_repeated_loss_is_reported_unless_the_disk_is_full():
    text = "Job aborted\norg.apache.spark.shuffle.FetchFailedException\nCaused by: java.nio: /x\n"
    assert "lost repeatedly" in _translate(text)
    assert "No space left" in _translate(text + "Caused by: java.io: No space left on device")


def test_where_recveil_is_missing_the_remedy_is_reported():
    assert "PYSPARK_PYTHON" in _translate("ModuleNotFoundError: No module named 'recveil'\n at")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Job aborted.\nrecveil.RecveilError: disk: no room; make room", "spark.task"),
        ("java.io.IOException: No space left", "spark.task"),
        ("ModuleNotFoundError: No module named 'recveil'", "dependency.missing"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x.", "input.not-found"),
        ("[CANNOT_MERGE_SCHEMA] cannot merge", "input.parts"),
        ("while reading file file:///x/a.csv. \nMALFORMED_CSV_RECORD: ann,7", "input.line"),
    ],
)
def test_what_spark_says_has_a_code(text, code):
    from pyspark.errors import PySparkException

    with raises(code), spark_errors_translated():
        raise PySparkException(text)


def test_where_java_has_ended_the_code_says_so():
    with raises("spark.ended"), spark_errors_translated():
        raise ConnectionError


def test_without_java_nothing_is_begun(monkeypatch):
    monkeypatch.setattr(spark_sessions, "_running", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with raises("dependency.missing"), spark_session():
        pass


def test_a_session_that_runs_already_is_taken(spark):
    with spark_session() as active:
        assert active is spark
    assert spark.range(3).count() == 3
    with raises("option.conflict"), spark_session("local[1]"):
        pass


def test_a_session_is_taken_that_another_thread_began_and_goes_on(spark):
    """Notebooks begin it in one thread and work in others."""

    def taken():
        with spark_session() as session:
            return session is spark

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(taken).result()
    assert spark.range(3).count() == 3


def listening(pid):
    """Addresses at which a process waits to be asked, as the system writes them."""
    names = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    own = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in names]
    return {row[1].split(":")[0] for row in own}


@pytest.mark.skipif(sys.platform != "linux", reason="sockets are told in /proc on Linux")
def test_no_other_machine_can_ask_for_rows(spark):
    from pyspark import SparkContext

    found = listening(SparkContext._gateway.proc.pid)
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert found
    assert found <= loopback
    assert spark.sparkContext.getConf().get("spark.authenticate") == "true"


def test_what_is_no_table_is_refused(spark, tmp_path):
    with raises("argument.type"):
        anonymize(7, tmp_path / "out", epsilon=3.0)
    with raises("input.not-found"):
        anonymize(tmp_path / "nothing.csv", tmp_path / "out", epsilon=3.0)
    with raises("input.not-found"):
        anonymize(tmp_path / "nothing.parquet", tmp_path / "out", epsilon=3.0)
