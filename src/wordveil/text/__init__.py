"""Text to gaps and token ids, and released words back to text.

Does not read documents, know embeddings, or draw noise. Unknown tokens are marked, never replaced here.
"""

from __future__ import annotations

from wordveil.text.characters import GAP_CHARACTERS
from wordveil.text.detokenization import apply_casing, apply_shapes, detokenize
from wordveil.text.encoding import EncodedBatch, EncodedText, Encoder
from wordveil.text.function_words import FUNCTION_WORDS
from wordveil.text.schemes import DEFAULT_SCHEME, SCHEMES, tokenizer_for
from wordveil.text.tokenizer import Tokenizer
from wordveil.text.writing import Writer

__all__ = [
    "DEFAULT_SCHEME",
    "FUNCTION_WORDS",
    "GAP_CHARACTERS",
    "SCHEMES",
    "EncodedBatch",
    "EncodedText",
    "Encoder",
    "Tokenizer",
    "Writer",
    "apply_casing",
    "apply_shapes",
    "detokenize",
    "tokenizer_for",
]
