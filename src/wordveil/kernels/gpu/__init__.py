"""Exact kernels on a graphics card: fused distance and arg-max, fused distance, weights and draw. Extra: gpu.

They answer as the processor's kernels do: words decoded are the same, words drawn follow the same law within the same
slack, from random words that the caller's secure source drew on the processor. PyTorch holds the data; Triton, where
it is there, does the two loops that cost the time. Nothing here is imported unless a device is asked for.
"""
