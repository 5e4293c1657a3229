"""The command `wordveil`: thin adapters over the library, no logic of their own.

They call the library as `wv`, whose names load their modules when first used: `--help` loads no NumPy.
"""
