"""What the laboratory brings to the command `wordveil`: each command's line, examples, and where its function is."""

from __future__ import annotations

from wordveil.api import OfferedCommand

bench = OfferedCommand(
    function="wordveil_lab.commands.bench:bench",
    line="Measure this machine's tokens per second.",
    examples=(
        "wordveil bench --vocabulary 2000 --dimensions 50 --tokens 512 --no-peers",
        "wordveil bench --growth tokens --most 10000 --no-peers --json",
    ),
)
evaluate = OfferedCommand(
    function="wordveil_lab.commands.evaluate:evaluate",
    line="Compare utility and attacks of mechanisms in a table.",
    examples=(
        "wordveil evaluate --mechanisms tem,laplace --epsilon 4 --task deniability --words 500 --size miniature",
        "wordveil evaluate --mechanisms tem --task bayes --words 500 --size miniature --report tem.md",
    ),
)
reproduce = OfferedCommand(
    function="wordveil_lab.commands.reproduce:reproduce",
    line="Repeat a paper's results beside its own numbers.",
    examples=(
        "wordveil reproduce tem --size miniature",
        "wordveil reproduce curse --size miniature --report curse.json",
    ),
)
score = OfferedCommand(
    function="wordveil_lab.commands.score:score",
    line="Score anybody's releases against their originals.",
    examples=(
        "wordveil score --original pairs.csv --original-column text --released-column released --report score.html",
        "wordveil score --original pairs.csv -c text --released-column released --label topic --claimed 8 --per word",
    ),
)
