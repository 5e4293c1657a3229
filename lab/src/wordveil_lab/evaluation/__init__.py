"""Utility, attacks and the league table: what a release is still good for, and what an attacker gets from it.

Everything here runs on public data with seeded test noise and says so: nothing it draws is a release.
"""
