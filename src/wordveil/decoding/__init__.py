"""Decoders: released vectors to words, by post-processing alone, and mechanisms made of a vector mechanism and one."""
