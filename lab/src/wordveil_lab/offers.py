"""What the laboratory brings to the command `wordveil`: each command's line, examples, and where its function is."""

from __future__ import annotations

from wordveil.api import OfferedCommand
from wordveil_lab.package import told


def _offered(name: str) -> OfferedCommand:
    facts = told("offers.toml")[name]
    place = f"wordveil_lab.commands.{name}:{name}"
    return OfferedCommand(function=place, line=facts["line"], examples=tuple(facts["examples"]))


bench, evaluate, reproduce, score = map(_offered, ("bench", "evaluate", "reproduce", "score"))
