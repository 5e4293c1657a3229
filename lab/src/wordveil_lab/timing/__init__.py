"""What the pages of speed and memory quote, measured: one program a module, `python -m wordveil_lab.timing.NAME`."""
