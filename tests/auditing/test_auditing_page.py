"""The package exports what the page on auditing names."""

import wordveil.auditing as auditing


def test_public_names_are_sorted_and_there():
    assert auditing.__all__ == sorted(auditing.__all__)
    assert all(getattr(auditing, name).__module__.startswith("wordveil.auditing.") for name in auditing.__all__)
