"""Whole sentences released as public ones: stocks of sentences, what brings a text to them, and the response."""
