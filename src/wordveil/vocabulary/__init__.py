"""Public vocabularies: words, vectors, look-up, candidates, and readers of embedding files."""
