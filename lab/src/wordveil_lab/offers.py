"""What the laboratory brings to the command `wordveil`: each command's line, examples, and where its function is."""

from __future__ import annotations

from wordveil.api import OfferedCommand
from wordveil_lab.package import told

bench, evaluate, reproduce, score = (
    OfferedCommand(function=f"wordveil_lab.commands.{name}:{name}", line=said["line"], examples=tuple(said["examples"]))
    for name, said in told("offers.toml").items()
)
