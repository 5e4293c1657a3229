"""Auditing: what a mechanism really promises, by exact checks and by statistics, for any mechanism."""
