"""Text and vectors through Apache Spark: data frames (`sanitize`, `release`) and trees of files (`sanitize_files`).

A retried, speculative or re-read partition gives the same bytes, because the noise of a row is placed by its id and its
content under one key; the key lies in a 0600 file that every executor reads, and is in no plan and no log.

    from wordveil import spark as veil

    with veil.run_key("/shared/run.key") as key:
        released = veil.sanitize(frame, ["text"], sanitizer, ids="id", keep=["id"], key_file=key)
        released.write.parquet("/shared/released")

Needs the extra `spark` (PySpark 4) and Java 17.
"""

from wordveil.runs.beforehand import Over, UserBudget
from wordveil.spark.budgets import within_budget
from wordveil.spark.files import sanitize_files
from wordveil.spark.frames import release, sanitize
from wordveil.spark.keys import run_key
from wordveil.spark.saving import save

__all__ = ["Over", "UserBudget", "release", "run_key", "sanitize", "sanitize_files", "save", "within_budget"]
