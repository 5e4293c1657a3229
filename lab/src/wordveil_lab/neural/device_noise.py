"""Noise drawn where the tensors live: fast, and *not* cryptographic.

PyTorch's generator on CUDA (Philox) starts from a 64-bit seed; whoever learns or guesses it removes all noise. The one
on the CPU is no choice at all: a Mersenne Twister with a 32-bit seed, all of whose numbers follow from 624 of them; the
layer refuses it. Releases should keep `noise="secure"`, which draws on the CPU from `RandomSource`.
Only laws with a closed transform are here: the three clipped mechanisms.
"""

from __future__ import annotations

import math
import os
from typing import Any

from wordveil.api import ParameterError, VectorRandomizer
from wordveil_lab.neural.backend import torch

__all__ = ["DEVICE_ASSUMPTION", "DeviceNoise"]

SEED_BYTES = 8  # what Philox takes whole

DEVICE_ASSUMPTION = (
    "the noise comes from the device's own generator, which is not cryptographic: nobody knows or guesses its seed"
)


class DeviceNoise:
    """The noise of one layer, from generators of its own.

    PyTorch's common generator will not do: a training seeds it with a public number, and a forked process draws the
    same numbers as its parent. These are seeded by the operating system, and again in every process.

    Args:
        randomizer: One of the clipped mechanisms, fitted.

    Raises:
        ParameterError: If the mechanism is none of them.
    """

    def __init__(self, randomizer: VectorRandomizer | None) -> None:
        noise = None if randomizer is None else randomizer.coordinate_noise
        if randomizer is None or randomizer.clip_norm is None or noise is None:
            raise ParameterError(
                "noise", "device", "exists for clipped-gaussian, clipped-laplace and truncated-laplace; use 'secure'."
            )
        self._radius, self._law = randomizer.clip_norm, noise
        self._generators: dict[tuple[int, Any], Any] = {}

    def randomize(self, rows: Any) -> Any:
        """Return clipped rows with fresh noise from a generator of their device, shape (n, d), float64."""
        wide = rows.double()
        norms = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
        return wide * (self._radius / norms.clamp_min(self._radius)) + self._noise(wide, self._generator(wide.device))

    def _generator(self, device: Any) -> Any:
        place = (os.getpid(), device)
        generator = self._generators.get(place)
        if generator is None:
            generator = self._generators[place] = torch.Generator(device=device)
            generator.manual_seed(int.from_bytes(os.urandom(SEED_BYTES), "little"))
        return generator

    def _noise(self, like: Any, generator: Any) -> Any:
        scale, reach = self._law.scale, self._law.reach
        if self._law.law == "gaussian":
            return torch.empty_like(like).normal_(generator=generator) * scale
        if reach == math.inf:
            # The difference of two exponentials is a Laplace variate.
            one, two = (torch.empty_like(like).exponential_(generator=generator) for _ in range(2))
            return (one - two) * scale
        signed = 2 * torch.empty_like(like).uniform_(generator=generator) - 1
        inside = -torch.expm1(torch.tensor(-reach / scale, dtype=like.dtype, device=like.device))
        sizes = (-torch.log1p(-signed.abs() * inside) * scale).clamp_max(reach)
        return torch.copysign(sizes, signed)
