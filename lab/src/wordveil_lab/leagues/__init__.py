"""The tables of the pages of results, measured and written: `python -m wordveil_lab.leagues.NAME`."""
