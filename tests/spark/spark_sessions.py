"""What the tests and the drivers they start share: one way to make a session."""

import itertools
import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from wordveil.documents import DocumentSettings

pytest.importorskip("pyspark", reason="needs PySpark (extra: spark)")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("needs Java 17: tools/install_system_parts java", allow_module_level=True)

MARKS = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # py4j leaves its sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
JSONL = DocumentSettings(columns=("text",), keep_others=True)


def two_hosts():
    """Start a standalone cluster in this driver's Java; returns its address.

    A local-cluster has one host, and on the host of the first attempt Spark never speculates.
    """
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized(conf=SparkConf().set("spark.driver.memory", "512m"))
    java = SparkContext._jvm
    deploy, none = java.org.apache.spark.deploy, java.scala.Option.empty()
    conf = java.org.apache.spark.SparkConf().set("spark.master.rest.enabled", "false").set("spark.ui.enabled", "false")
    master = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)
    url = f"spark://127.0.0.1:{master._1().address().port()}"
    masters = SparkContext._gateway.new_array(java.java.lang.String, 1)
    masters[0] = url
    for host in (2, 3):
        place = tempfile.mkdtemp(prefix="spark-")
        number = java.scala.Option.apply(host)
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            f"127.0.0.{host}", 0, 0, 1, 1024, masters, place, number, conf, none
        )
    return url


def session(master=None):
    """A session on a master, or on two hosts with an executor of one core each."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master or two_hosts()).appName("wordveil-tests")
    settings = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    chosen = {**settings, "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="spark-")}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def speculative(spark):
    """How many attempts Spark has made besides one that was still running."""
    store = spark.sparkContext._jsc.sc().statusStore()
    made = 0
    for stage in itertools.count():
        tasks = store.taskList(stage, 0, 1000)
        if stage > 50 and not tasks.size():
            return made
        made += sum(tasks.apply(index).speculative() for index in range(tasks.size()))
