"""One session of Spark for all tests; without pyspark or Java they skip, and say so."""

import os
import shutil
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import recveil
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)
# Tables of tests are small: to compile what goes through them takes five times as long as they do.
_SMALL = (
    "spark.sql.codegen.wholeStage=false",
    "spark.sql.codegen.factoryMode=NO_CODEGEN",
    "spark.sql.shuffle.partitions=4",
)
_COMPILE_LITTLE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


# This one closes its own connections; 4.0 and 4.1 do not.
_CLOSES = 4, 3


def pytest_configure(config: pytest.Config) -> None:
    """Pass over the connections that an older pyspark leaves to the garbage collector."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return
    if tuple(map(int, found.split(".")[:2])) < _CLOSES:
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def _java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or bool(home and Path(home, "bin/java").is_file())


@pytest.fixture(scope="session")
def spark():
    """A session on this machine, with two cores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pyspark.sql", reason="the extra [spark] is not installed")
    if not _java():
        pytest.skip("no java on this machine: install Java 17 or newer")
    from recveil.spark.session import spark_session

    # Executors import the recveil that is tested.
    paths = [str(Path(recveil.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("SPARK_SUBMIT_OPTS", _COMPILE_LITTLE)
        given = " ".join(f"--conf {setting}" for setting in _SMALL)
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{given} pyspark-shell")
        with spark_session("local[2]") as session:
            yield session


@pytest.fixture
def own_settings(spark):
    """Gives what changes settings of the session, which have their old values after the test."""
    before = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="session")
def ratings() -> Ratings:
    """Four hundred invented users."""
    return make_ratings(400, 60, 8_000, seed=1, scale=STARS)


@pytest.fixture(scope="session")
def frame(spark, ratings):
    """The same as a DataFrame, in an order of its own."""
    table = ratings.to_arrow().select(["user_id", "item_id", "rating"])
    return spark.createDataFrame(table).repartition(3)
