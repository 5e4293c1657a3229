"""`wordveil spark-sanitize`: a directory through the sanitizer on a Spark cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from wordveil.cli.options import EngineOption, Wanted
from wordveil.cli.progress import row_bar
from wordveil.cli.running import PerUser, ReadingOptions, Running, Speed
from wordveil.cli.sanitize import Around, Care, Job
from wordveil.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where the tasks run."""

    master: Annotated[
        str | None,
        Option(metavar="URL", help="Spark's master, such as local[4] or yarn. Default: that of its settings."),
    ] = None
    conf: Annotated[list[str] | None, Option(metavar="NAME=VALUE", help="A setting of Spark; repeat as needed.")] = None
    engine: EngineOption = None
    bad_files: Annotated[
        str, Option(help="Files that cannot be read: leave-out, and name them at the end, or stop.")
    ] = "leave-out"


def spark_sanitize(
    source: Annotated[str, Argument(metavar="IN", help="Directory that driver and executors see under this path.")],
    output: Annotated[str, Option("--output", "-o", help="New or empty directory that all of them see.")],
    *,
    cluster: Cluster,
    per_user: PerUser,
    wanted: Wanted,
    reading: ReadingOptions,
    around: Around,
    running: Running,
    care: Care,
) -> int:
    """Sanitize the files of the directory IN on a cluster, a task a file (extra: spark).

    The output is, byte for byte, that of `sanitize` under the same key, whatever fails and is tried again on the way.
    """
    from wordveil.spark.files import sanitize_files
    from wordveil.spark.frames import session

    if cluster.bad_files not in ("leave-out", "stop"):
        raise ParameterError("--bad-files", cluster.bad_files, "must be leave-out or stop.")
    budget = per_user.budget()
    speed = Speed(threads=1, engine=cluster.engine)  # Spark runs a task a core
    settings = reading.settings()
    job = Job.prepared_for(source, output, wanted, around, running, care, speed)
    with row_bar("files", quiet=running.quiet) as show:
        result = sanitize_files(
            session(cluster.master, cluster.conf or ()),
            source,
            output,
            job.sanitizer,
            settings=settings,
            stop_at_bad_files=cluster.bad_files == "stop",
            budget=budget,
            progress=None if show is None else lambda done, total, _: show(done, total),
            **job.options(settings),
        )
    return job.end(result, settings, allowed=reading.allow_bad_files)
