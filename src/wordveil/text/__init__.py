"""Text to gaps and token ids, and released words back to text.

Does not read documents, know embeddings, or draw noise. Unknown tokens are marked, never replaced here.
"""
