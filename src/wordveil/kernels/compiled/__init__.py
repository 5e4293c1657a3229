"""Optional C kernels: the same answers faster, built where a compiler is found, never needed.

`engine_name()` says what kernels made now will use. Decoded words are the same whatever the engine; weights agree
within the arithmetic slack that is part of the guarantee, so words drawn with another engine can differ, and a run
records the engine that made it.
"""

from wordveil.kernels.compiled.library import available_engines, engine_name, pinned_engine

__all__ = ["available_engines", "engine_name", "pinned_engine"]
