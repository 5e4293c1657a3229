"""Measuring wordveil against the machine's own product rate and against plain peers, in one process."""
