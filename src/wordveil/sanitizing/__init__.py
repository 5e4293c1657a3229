"""Text in, released text out: one sanitizer, put together and placed."""
