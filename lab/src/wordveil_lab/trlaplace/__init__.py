"""Truncated Laplace noise in front of models, measured: `python -m wordveil_lab.trlaplace.results`, then `.page`."""
