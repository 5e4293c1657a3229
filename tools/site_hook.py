"""Hook of MkDocs: the repository's own pages (README, CHANGELOG, ...) become pages of the site, and links lead there.

In the repository every link is relative to the file it stands in, and is followed there. On the site README.md is the
first page; a link to a file outside docs/ leads to a copy of that file under files/.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""File of the repository -> page of the site."""
LAST = re.compile(r"design/|results/|(?:changelog|contributing|security|vulnerabilities|dependencies)\.md$")
"""Pages that search shows after all others: those for contributors, and tables."""
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_config(config: Any) -> Any:
    """Put all pages of a folder in the place of `folder/*` in the navigation, so that new ones need no line there."""
    config.nav = _expanded(config.nav)
    return config


def _expanded(entries: list[Any]) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and entry.endswith("*"):
            pages = sorted(DOCS.glob(f"{entry}.md"))
            found += [page.relative_to(DOCS).as_posix() for page in pages if page.name != "README.md"]
        elif isinstance(entry, dict):
            found.append({name: _expanded(own) if isinstance(own, list) else own for name, own in entry.items()})
        else:
            found.append(entry)
    return found


def on_files(files: Files, config: Any) -> Files:
    """Add the repository's pages, and copies of the other files that pages lead to."""
    for name, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    sources = [ROOT / name for name in PAGES] + [Path(str(file.abs_src_path)) for file in files.documentation_pages()]
    for source in sources:
        for target in LINK.findall(_without_code(source.read_text(encoding="utf-8"))):
            path = Path(os.path.normpath(source.parent / target))
            uri = _uri(path)
            if path.is_file() and uri.startswith("files/") and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between pages of the site.

    A comment at the start goes: behind one the page's title is not seen, and the navigation shows the file's name.
    """
    if LAST.match(page.file.src_uri):
        page.meta.setdefault("search", {"boost": 0.1})
    markdown = re.sub(r"\A<!--.*?-->\s*", "", markdown, flags=re.DOTALL)
    source = Path(page.file.abs_src_path)
    here = posixpath.dirname(page.file.src_uri)

    def led(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(source.parent / match[1]))
        return posixpath.relpath(_uri(path), here or ".") if path.exists() else match[1]

    parts = re.split(r"(^```.*?^```)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(led, _with_lists(part)) for part in parts)


def _with_lists(markdown: str) -> str:
    """Put an empty line before every list that follows a line of text: other readers of Markdown need none."""
    paragraphs = re.split(r"(\n\s*\n)", markdown)
    listed = re.compile(r"\s*(?:[-*]|\d+\.) ")
    return "".join(
        part if listed.match(part) else re.sub(r"\n(?=(?:-|\d+\.) )", "\n\n", part, count=1) for part in paragraphs
    )


def on_post_build(*, config: Any, **_: Any) -> None:
    """Take addresses of a public server out of the theme's program, which asks it for parts that no page needs."""
    for script in Path(config.site_dir).rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        if "https://unpkg.com/" in text:
            script.write_text(text.replace("https://unpkg.com/", "/not-on-this-site/"), encoding="utf-8")


def _uri(path: Path) -> str:
    """Return where a file or folder of the repository is on the site."""
    if path.is_dir():
        path /= "README.md"
    if path.is_relative_to(DOCS) and path.suffix != ".html":
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return PAGES.get(name, f"files/{name}")


def _without_code(markdown: str) -> str:
    return re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
