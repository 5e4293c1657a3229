"""Pages that hold figures and quoted numbers, written: `python -m wordveil_lab.pages.NAME`."""
