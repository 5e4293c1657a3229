"""Makes sure that Spark's workers run a Python that can do the work, before a job fails with pages of Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wordveil.errors import ParameterError, WordveilError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION = "{}.{}".format(*sys.version_info)
PROBE = (
    "import json, sys\nanswer = {'version': '{}.{}'.format(*sys.version_info)}\n"
    "try:\n import pyarrow, wordveil\nexcept ImportError as error:\n answer['missing'] = error.name\n"
    "print(json.dumps(answer))"
)
SIGNS = ("PYTHON_VERSION_MISMATCH", "ModuleNotFoundError", "Cannot run program")
"""Of a worker that cannot start, in what Java says of it."""


def check_workers(spark: SparkSession) -> None:
    """Refuse a session whose workers run another Python than this driver, or one without wordveil and PyArrow.

    On this machine the workers' Python is asked. On a cluster it is a job of one row that fails or not. A session of
    Spark Connect does not tell, and is not checked.
    """
    try:
        context: Any = spark.sparkContext
    except Exception:  # noqa: BLE001 (PySpark's own error under Spark Connect, of a class that moves between versions)
        return
    if context.master.startswith("local"):
        _ask(context.pythonExec, tuple(sorted(context.environment.items())))
        return
    try:
        context.parallelize([0], 1).map(_imported).collect()
    except Exception as error:
        if not any(sign in str(error) for sign in SIGNS):
            raise
    else:
        return
    raise _wrong(context.pythonExec, "does not run on the workers as on this driver, with wordveil and PyArrow")


@lru_cache(maxsize=8)
def _ask(python: str, environment: tuple[tuple[str, str], ...]) -> None:
    command, variables = [python, "-c", PROBE], {**os.environ, **dict(environment)}
    try:
        done = subprocess.run(command, capture_output=True, env=variables, check=True, timeout=60)  # noqa: S603
        answer = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        answer = {}
    if not answer:
        raise _wrong(python, "cannot be run")
    if answer["version"] != VERSION:
        raise _wrong(python, f"is Python {answer['version']}, and this driver runs {VERSION}")
    if "missing" in answer:
        raise _wrong(python, f"cannot import {answer['missing']}")


def _imported(_: int) -> None:
    import pyarrow  # noqa: F401


def _wrong(python: str, problem: str) -> WordveilError:
    remedy = f"Set PYSPARK_PYTHON to the workers' {VERSION} with wordveil before the session is made"
    return ParameterError("PYSPARK_PYTHON", python, f"{problem}. {remedy}; on one machine that is {sys.executable}.")
