"""Prints what keyed releases come to on this machine, as JSON: `.ci/machines` compares it with what another one prints.

Every text kernel has to be there: what is compared is what they draw, read and write.
"""

import json

import wordveil as wv
from wordveil.kernels.compiled.library import text_library, withholding_library

KEY = bytes.fromhex("00112233445566778899aabbccddeeff")
TEXTS = [
    "Maria was diagnosed with depression in March.",
    "The film was great, and I'd see it again: 10/10!",
    "Call +44 20 7946 0018 or mail x@y.org - $5,000.",
    "",
    "é ünïcode “quotes” … don't",
] * 40

assert text_library() is not None
assert withholding_library() is not None
found = {"redacted": [wv.Redactor().redact(text) for text in TEXTS]}
lists = [wv.NeighbourResponse(epsilon=7.0, outputs=outputs) for outputs in (4000, "classes:256")]
for mechanism in (*lists, wv.TEM(epsilon=8.0), wv.SanText(epsilon=8.0)):
    sanitizer = wv.Sanitizer(wv.load_embeddings(), mechanism, source=wv.RandomSource(KEY))
    found[repr(mechanism)] = list(sanitizer.release_batch(TEXTS, ids=[str(i) for i in range(len(TEXTS))]).texts)
print(json.dumps(found))
