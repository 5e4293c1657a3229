"""Extension of griffe, which reads the docstrings for the site: in "Example:" there is code, as in "Examples:"."""

from __future__ import annotations

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Gives the section the name under which griffe sets code as code."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename it in the docstring of a module, class or function."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
