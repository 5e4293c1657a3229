"""The laboratory: evaluation, benchmarks, the papers repeated. Nothing outside imports it."""
