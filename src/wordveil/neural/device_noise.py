"""Noise drawn where the tensors live: fast, and *not* cryptographic.

PyTorch's generators (Philox on CUDA, Mersenne Twister on the CPU) start from a 64-bit seed; whoever learns or guesses
it removes all noise. Releases should keep `noise="secure"`, which draws on the CPU from `RandomSource`.
Only laws with a closed transform are here: the three clipped mechanisms.
"""

from __future__ import annotations

from typing import Any

from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorRandomizer
from wordveil.mechanisms.clipped_gaussian import FittedClippedGaussian
from wordveil.mechanisms.clipped_laplace import FittedClippedLaplace
from wordveil.mechanisms.truncated_laplace import FittedTruncatedLaplace
from wordveil.neural.backend import torch

__all__ = ["CLIPPED", "DEVICE_ASSUMPTION", "check_device_law", "randomize_on_device"]

DEVICE_ASSUMPTION = (
    "the noise comes from the device's own generator, which is not cryptographic: nobody knows or guesses its seed"
)
CLIPPED = (FittedClippedGaussian, FittedClippedLaplace, FittedTruncatedLaplace)
"""Mechanisms that clip and add independent noise to every coordinate, whatever the table."""


def check_device_law(randomizer: VectorRandomizer) -> None:
    """Raise unless this mechanism's noise can be drawn on a device.

    Raises:
        ParameterError: Naming the mechanisms for which it can.
    """
    if not isinstance(randomizer, CLIPPED):
        raise ParameterError(
            "noise", "device", "exists for clipped-gaussian, clipped-laplace and truncated-laplace; use 'secure'."
        )


def randomize_on_device(randomizer: VectorRandomizer, rows: Any) -> Any:
    """Return clipped rows with fresh noise from the generator of their device, shape (n, d), float64."""
    check_device_law(randomizer)
    wide = rows.double()
    radius = randomizer.mechanism.clip_norm  # type: ignore[attr-defined]
    norms = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
    return wide * (radius / norms.clamp_min(radius)) + _noise(randomizer, wide)


def _noise(randomizer: VectorRandomizer, like: Any) -> Any:
    if isinstance(randomizer, FittedClippedGaussian):
        return torch.randn_like(like) * randomizer.sigma
    if isinstance(randomizer, FittedClippedLaplace):
        draw = torch.empty_like(like)
        # The difference of two exponentials is a Laplace variate.
        return (draw.exponential_() - torch.empty_like(like).exponential_()) * randomizer.scale
    assert isinstance(randomizer, FittedTruncatedLaplace)
    signed = 2 * torch.rand_like(like) - 1
    reach = randomizer.alpha * randomizer.half_width
    inside = -torch.expm1(torch.tensor(-reach, dtype=like.dtype, device=like.device))
    sizes = (-torch.log1p(-signed.abs() * inside) / randomizer.alpha).clamp_max(randomizer.half_width)
    return torch.copysign(sizes, signed)
