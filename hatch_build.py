"""Build hook: compile the optional kernels into the wheel where a compiler is found; never fail an installation.

The wheel holds a library for every instruction set; which of them a processor can run is found out when they are
loaded. Without a compiler the wheel is the pure Python one. Set WORDVEIL_NO_COMPILE to any value to skip the
compilation, and WORDVEIL_WHEEL to the tag of another platform (see `make release`) to compile for it by ziglang.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled kernels to a wheel and gives it the platform's tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and list what was made; on any trouble say so and go on without."""
        if self.target_name != "wheel" or os.environ.get("WORDVEIL_NO_COMPILE"):
            return
        folder = Path(self.root) / "src" / "wordveil" / "kernels" / "compiled"
        if tag := os.environ.get("WORDVEIL_WHEEL"):
            building = _building(folder / "building.py")
            self._hold(building.build(folder / "built", building.target_of(tag)), tag, build_data)
            return
        try:
            made = _building(folder / "building.py").build(folder / "built")
        except Exception as error:  # noqa: BLE001 - an optional part must not stop an installation
            self.app.display_warning(f"compiled kernels were not built ({type(error).__name__}); NumPy does the work")
            return
        if made and version != "editable":
            self._hold(made, _platform_tag(made), build_data)

    def _hold(self, made: list[Path], tag: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        for path in made:
            build_data["force_include"][str(path)] = f"wordveil/kernels/compiled/built/{path.name}"


def _platform_tag(libraries: list[Path]) -> str:
    """Return the oldest manylinux these libraries run on, by the glibc symbols they ask for; else this system's tag."""
    if platform.libc_ver()[0] != "glibc":
        return re.sub(r"\W", "_", sysconfig.get_platform())
    asked = (minor for path in libraries for minor in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes()))
    return f"manylinux_2_{max(17, *map(int, asked))}_{platform.machine()}"  # 2.17 is the oldest that pip knows


def _building(path: Path) -> Any:
    """Load the module that compiles without importing wordveil, whose dependencies are not there yet."""
    spec = importlib.util.spec_from_file_location("wordveil_building", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
