"""What a release may have said: the posterior of every word under the exact channel and a public prior.

The most readable text and the best attack are two readings of one posterior. Only public information enters, and the
release: no module here reaches a reader of documents or a sanitizer (`tests/test_imports.py`).
"""
