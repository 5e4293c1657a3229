"""The documentation site: built strictly, all its links lead somewhere, and nothing is loaded from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from tests.browsing import LOOKS, chromium, faults

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def built(folder, site):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=quiet)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="needs the extra wordveil[docs]")
    made = tmp_path_factory.mktemp("site")
    run = built(ROOT, made)
    assert run.returncode == 0, run.stdout + run.stderr
    return made


CODE = ("pre", "code", "script", "style")


class Page(HTMLParser):
    """Anchors and links of a page, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.code, self.paragraphs, self.unread = 0, 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.code += tag in CODE
        self.paragraphs += tag == "p"
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        elif tag in ("script", "img", "iframe", "source", "audio", "video") and named.get("src"):
            self.loaded.append(named["src"])
        elif tag == "link" and named.get("href") and named.get("rel") != "canonical":
            self.loaded.append(named["href"])

    def handle_endtag(self, tag):
        self.code -= tag in CODE
        self.paragraphs -= tag == "p"

    def handle_data(self, data):
        if self.paragraphs and not self.code:  # Markdown that was not understood stands in the text as it was typed
            self.unread += re.findall(r"^(?:[-*] |\d+\. \S|\|-|#+ |```|\[.*\]\().*", data, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def broken(pages):
    """Links and loaded files that lead nowhere inside the site."""
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # served from anywhere, so that its links begin at the root
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{path.name}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{path.name}: {link} (no such anchor)")
    return found


def test_every_link_of_the_site_leads_somewhere(pages):
    assert len(pages) > 50
    assert broken(pages) == []


def test_no_markdown_is_left_in_the_text(pages):
    assert {path.name: page.unread for path, page in pages.items() if page.unread and "files" not in path.parts} == {}
    assert Page("<p>text\n- an item</p><pre>- code</pre>").unread == ["- an item"]


def test_a_link_that_leads_nowhere_would_be_noticed(pages):
    path, page = next((path, page) for path, page in pages.items() if path.name == "limits.html")
    wrong = Page('<a href="absent.html"></a><a href="guarantees.html#nothing"></a><img src="none.svg">')
    assert len(broken({**pages, path: wrong})) == 3
    assert broken({path: page, **pages}) == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    outside = {source for page in pages.values() for source in page.loaded if re.match(r"(https?:)?//", source)}
    assert outside == set()
    servers = re.compile(r"(?:fonts\.g\w+|unpkg|cdn\.jsdelivr|cdnjs\.cloudflare)\.com")
    named = [path.name for path in site.rglob("*") if path.suffix in (".js", ".css", ".html") and servers.search(
        path.read_text(encoding="utf-8"))]  # fmt: skip
    assert named == []


def test_the_reference_shows_every_public_name_and_every_command(site):
    from wordveil.cli.app import command_lines
    from wordveil.names import EXPORTS

    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name, module in EXPORTS.items() if f'id="{module}.{name}"' not in python] == []
    assert "<blockquote>" not in python, "an example of a docstring was not read as code"
    commands = Page((site / "reference" / "commands.html").read_text(encoding="utf-8")).anchors
    assert [name for name in command_lines() if not any(anchor.startswith(name) for anchor in commands)] == []


def test_a_copied_command_comes_without_its_prompt(site):
    sheet = (site / "stylesheets" / "site.css").read_text(encoding="utf-8")
    assert "[data-md-copying] .gp { display: none; }" in sheet
    page = (site / "start" / "tutorial.html").read_text(encoding="utf-8")
    assert "stylesheets/site.css" in page
    assert '<div class="language-console highlight">' in page
    assert page.count('<span class="gp">$ </span>') > 5


def test_pages_that_programs_make_stand_under_their_titles(site):
    page = (site / "mechanisms" / "tem.html").read_text(encoding="utf-8")
    assert "TEM (tem)" in re.sub(r"<[^>]+>", "", page.partition("<article")[0])


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(site):
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


THEMES_OWN = ("aria-dialog-name", "landmark-unique", "scrollable-region-focusable", "empty-table-header")
"""Rules that the theme's search, copy buttons and wide tables break, and tables of Markdown with an empty corner."""


@pytest.mark.parametrize("name", ["index", "which", "start/tickets", "results/redaction", "mechanisms/tem"])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_page_is_legible_on_every_screen_and_to_a_screen_reader(browser, address, name, width, scheme):
    assert faults(browser, f"{address}/{name}.html", width, scheme, but=THEMES_OWN) == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_site_is_searched_from_disk_and_shows_contributors_pages_last(site):
    address = f"{(site / 'index.html').as_uri()}?q=mechanism"
    page = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom", address],
        capture_output=True, text=True, check=True, timeout=120,
    ).stdout  # fmt: skip
    assert re.search(r"md-search-result__meta\W+[1-9]\d* matching documents", page)
    links = re.findall(r'href="([^"#?]+\.html)[^"]*" class="md-search-result__link"', page)
    assert not any(re.match("(.*/)?(design/|changelog|vulnerabilities)", link) for link in links[:5])


def test_a_strict_build_refuses_a_dead_link(site, tmp_path):
    for part in (
        "docs", "tools", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml", "NOTICE",
    ):  # fmt: skip
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
        copy(ROOT / part, tmp_path / part)
    for folder in ("src", "lab", "tests", "examples", ".ci"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    page = tmp_path / "docs" / "limits.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[nothing](absent.md)\n", encoding="utf-8")
    run = built(tmp_path, tmp_path / "site")
    assert run.returncode != 0
    assert "absent.md" in run.stdout + run.stderr
