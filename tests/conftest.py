"""What all tests rely on: an interrupt arrives, even where a shell that started them in the background ignores it."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
