"""Modules that no import finds: packages as an installer leaves them, and the programs of `tools/`."""

import importlib.util
import json
import sys
from pathlib import Path


def install(monkeypatch, folder, code, *, name="mine", version="1.0", source=None, offers=""):
    """Write a package of one module into a folder, with what an installer notes of it, and import the module.

    Args:
        source: What `direct_url.json` says of a package that came from no index.
        offers: Its entry points.
    """
    notes = folder / f"{name}-{version}.dist-info"
    notes.mkdir(parents=True)
    (folder / f"{name}.py").write_text(code)
    (notes / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (notes / "RECORD").write_text(f"{name}.py,{len(code)}-{hash(code)},\n{notes.name}/METADATA,,\n")
    if offers:
        (notes / "entry_points.txt").write_text(offers)
    if source is not None:
        (notes / "direct_url.json").write_text(json.dumps({"url": folder.as_uri(), **source}))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    module = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def tool(name):
    """Load a program of `tools/`."""
    path = Path(__file__).parents[1] / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass asks for its module
    spec.loader.exec_module(module)
    return module
