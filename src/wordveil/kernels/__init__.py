"""Exact tiles over the vocabulary: distance rows with weights and draws, and nearest words; no (n, v) array."""
