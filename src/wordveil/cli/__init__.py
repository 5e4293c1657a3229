"""The command `wordveil`: thin adapters over the library, no logic of their own."""
