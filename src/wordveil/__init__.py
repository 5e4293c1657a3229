"""wordveil: release text and text embeddings with a stated, checkable privacy guarantee."""

__version__ = "0.1.0"
