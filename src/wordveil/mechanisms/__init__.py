"""Mechanisms, one file each: claim, sampler and reference on one screen."""
