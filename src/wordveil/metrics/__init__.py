"""Metrics between words, and the tables that hold a finite one."""
