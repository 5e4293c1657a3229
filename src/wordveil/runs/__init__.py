"""Runs over files, tables and vectors: reports, completion, what may be read and written."""
