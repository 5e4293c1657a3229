"""Optional C kernels: the same answers faster, built where a compiler is found, never needed.

`engine_name()` says what kernels made now may use, `kernel_engine` what one of them will use. Words are the same
whatever the engine; a run records which computed.
"""

from wordveil.kernels.compiled.library import available_engines, engine_name, kernel_engine, pinned_engine

__all__ = ["available_engines", "engine_name", "kernel_engine", "pinned_engine"]
