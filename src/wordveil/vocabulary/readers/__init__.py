"""Readers of foreign embedding formats: one file per format, and `registry`, which names them."""
