"""Scores anyone's releases: paired texts, originals and what was released of them, by whatever method."""
