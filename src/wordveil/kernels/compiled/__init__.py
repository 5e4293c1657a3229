"""Optional C kernels: the same answers faster, built where a compiler is found, never needed.

`library.engine_name()` says what kernels made now may use, `kernel_engine` what one of them will use. Words are the
same whatever the engine; a run records which computed.
"""
