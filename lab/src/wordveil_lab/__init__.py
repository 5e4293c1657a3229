"""The laboratory of wordveil: evaluation, benchmarks, papers repeated, scores of releases, models behind the noise.

A distribution of its own. It uses the names of `wordveil.api` and brings its commands to `wordveil` (`offers`).
"""

__version__ = "0.1.0"
