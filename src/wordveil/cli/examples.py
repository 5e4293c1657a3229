"""Two examples of every command, shown at the end of its help; the tests run them."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, str]] = {
    "demo": ("wordveil demo", "wordveil demo --json"),
    "redact": (
        "wordveil redact note.txt -o readable.txt --report readable.json",
        "wordveil redact reviews.jsonl --column text --keep stars --pack food -o readable.jsonl",
    ),
    "words": ("wordveil words", "wordveil words --kept --words common:1000"),
    "sanitize": (
        "wordveil sanitize note.txt -o clean.txt --report report.json",
        "wordveil sanitize reviews.jsonl --column text --keep stars --epsilon 6 -o clean.jsonl --report reviews.json",
    ),
    "spark-sanitize": (
        "wordveil spark-sanitize notes --output clean --master local",
        "wordveil spark-sanitize tables -o released --column text --keep stars --user-column id "
        "--max-nats-per-user 200 --over-budget drop --report released.json",
    ),
    "rephrase": (
        "wordveil rephrase note.txt -o rephrased.txt --report rephrased.json",
        "wordveil rephrase reviews.jsonl --column text --keep stars --epsilon 8 -o rephrased.jsonl",
    ),
    "sentences build": (
        "wordveil sentences build sentences.txt -o stock --prototypes 4,8",
        "wordveil sentences build reviews.jsonl --column text -o reviews --prototypes 2 --licence CC0-1.0",
    ),
    "sentences info": ("wordveil sentences info", "wordveil sentences info --stock stock --epsilon 4"),
    "report": ("wordveil report clean.txt --verify report.json", "wordveil report --new-key sender.key"),
    "denoise": (
        "wordveil denoise clean.txt report.json -o readable.txt",
        "wordveil denoise clean.jsonl reviews.json --style faithful -o read.jsonl --report read.json",
    ),
    "prior build": (
        "wordveil prior build sentences.txt -o sentences.npz",
        "wordveil prior build reviews.jsonl --column text --triples 1000 -o reviews.npz",
    ),
    "release": (
        "wordveil release vectors.npy -o noisy.npy --mechanism clipped-laplace --epsilon 10",
        "wordveil release vectors.npz --column rows --keep ids --epsilon 4 -o noisy.npz --report noisy.json",
    ),
    "vocabulary import": (
        "wordveil vocabulary import glove.txt mine",
        "wordveil vocabulary import glove.txt short --limit 50 --candidates all --no-neighbours",
    ),
    "vocabulary info": ("wordveil vocabulary info", "wordveil vocabulary info --vocabulary mine --verify"),
    "vocabulary neighbors": (
        "wordveil vocabulary neighbors diabetes",
        "wordveil vocabulary neighbors diabetes --count 3",
    ),
    "vocabulary neighbours build": (
        "wordveil vocabulary neighbours build --vocabulary mine --count 16",
        "wordveil vocabulary neighbours build --vocabulary mine --count 8 --metric euclidean",
    ),
    "mechanisms": ("wordveil mechanisms", "wordveil mechanisms --json"),
    "explain": (
        "wordveil explain --mechanism tem --epsilon 9 --pair diabetes,asthma",
        "wordveil explain --mechanism laplace --epsilon 4 --tokens 200",
    ),
    "calibrate": (
        "wordveil calibrate --attacker 0.2",
        "wordveil calibrate --vocabulary mine --keep 0.3 --mechanism santext --json",
    ),
    "certify": (
        "wordveil certify --vocabulary mine --epsilon 4 -o certificate.json",
        "wordveil certify --vocabulary mine --verify certificate.json",
    ),
    "audit": (
        "wordveil audit --mechanism laplace --epsilon 1 --dimensions 3",
        "wordveil audit --mechanism tem --epsilon 4 --vocabulary mine --samples 5000 --report audit.html",
    ),
    "proxy": (
        "wordveil proxy --upstream https://api.openai.com/v1 --check",
        "wordveil proxy --upstream http://127.0.0.1:11434/v1 --epsilon 6 --public-prompt note.txt --check",
    ),
    "serve": (
        "wordveil serve --check",
        "wordveil serve --setting notes=neighbours:epsilon=6,unknown=mask --subject-budget 100 --port 8081 --check",
    ),
    "budget show": ("wordveil budget show", "wordveil budget show maria --json"),
    "budget grant": (
        "wordveil budget grant subject:maria 20 --setting tem:epsilon=9",
        "wordveil budget grant subject:maria 60 --setting rephrase",
    ),
    "budget history": ("wordveil budget history maria", "wordveil budget history subject:maria --json"),
    "budget export": ("wordveil budget export", "wordveil budget export --state service"),
    "budget key": ("wordveil budget key gateway", "wordveil budget key dashboard --read-only"),
    "budget revoke": ("wordveil budget revoke gateway", "wordveil budget revoke dashboard"),
    "doctor": ("wordveil doctor", "wordveil doctor --json"),
}
"""Command -> its examples."""
