"""`wordveil proxy`: what it prints, and what it never prints."""

import json
import os
import sys

import pytest

for needed in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(needed, reason="the proxy needs the extra proxy")

from wordveil.cli.main import main
from wordveil.integrations import proxy
from wordveil.integrations.conversation import Message

VENDOR = "https://vendor.test/v1/deployment-of-mine"
TOKEN = "a-token-of-the-tests-0123"


@pytest.fixture
def start(capsys, monkeypatch):
    """Run the command up to where it would listen; returns the proxy, or None, and all that was printed."""

    def run(*options, terminal=False):
        served = []
        monkeypatch.setattr(proxy, "serve", lambda made, **_: served.append(made))
        monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: terminal, raising=False)
        with pytest.raises(SystemExit):
            main(["proxy", *map(str, options)])
        out, err = capsys.readouterr()
        return (served or [None])[0], out + err

    return run


@pytest.mark.parametrize("upstream", [
    "https://maria:hunter2@vendor.test/v1", "https://hunter2@vendor.test", "https://u:hunt@er2/hunter2@vendor.test/v1",
    "ftp://u:hunter2@vendor.test", "https://vendor.test/v1?key=hunter2", "https://vendor.test/#hunter2", "hunter2",
])  # fmt: skip
@pytest.mark.parametrize("options", [("--check",), (), ("--no-such-option",), ("--mechanism", "none")], ids=str)
def test_no_password_of_the_vendors_address_is_printed(start, upstream, options):
    served, printed = start("--upstream", upstream, *options, terminal=True)
    assert served is None
    assert "hunter2" not in printed
    assert "maria" not in printed


def test_of_the_vendors_address_only_the_host_is_printed(start):
    served, printed = start("--upstream", VENDOR, terminal=True)
    assert served.upstream == VENDOR
    assert "the vendor is https://vendor.test\n" in printed
    assert "deployment-of-mine" not in printed + repr(served)


def test_a_new_token_is_made_at_every_start_and_printed_once_to_a_terminal_only(start):
    tokens = set()
    for _ in range(2):
        served, printed = start("--upstream", VENDOR, terminal=True)
        assert printed.count(served.token) == 1
        assert len(served.token) >= 32
        assert served.token not in repr(served)
        tokens.add(served.token)
    assert len(tokens) == 2
    served, printed = start("--upstream", VENDOR)
    assert served is None
    assert "no terminal to print a token to" in printed
    assert "--token-env" in printed


@pytest.mark.parametrize("option", ["--api-key-env", "--token-env"])
def test_neither_a_key_of_the_operators_nor_what_stands_for_its_variable_is_printed(start, option, monkeypatch):
    for variable, held in (("NAME", TOKEN), ("NAME", "short"), ("NAME", "with a space, and é"), ("sk-live-KEY", "")):
        monkeypatch.setenv(variable, held)
        served, printed = start("--upstream", VENDOR, option, variable, terminal=True)
        weak = held != TOKEN if option == "--token-env" else not held
        assert (served is None) == weak
        assert served is None or held in (served.token, served.api_key)
        assert not any(secret in printed for secret in (held or variable, "sk-live-KEY"))


def test_a_start_says_where_clients_would_send_private_text_first(start, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert "NO_PROXY" not in start("--upstream", VENDOR, terminal=True)[1]
    monkeypatch.setenv("HTTP_PROXY", "http://somebody:3128")
    assert "NO_PROXY=127.0.0.1" in start("--upstream", VENDOR, terminal=True)[1]
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    assert "NO_PROXY" not in start("--upstream", VENDOR, terminal=True)[1]


def test_two_starts_with_one_secret_release_alike_and_two_without_do_not(start, tmp_path):
    told = [Message("user", "Maria, 14 March 2026, maria@clinic.se, B-4711, +46 70 555 01 23, /home/anna/notes.pdf")]
    file = tmp_path / "secret"
    for options, equal in ((("--secret", file), True), ((), False)):
        one, two = (start("--upstream", VENDOR, *options, terminal=True)[0].conversation for _ in range(2))
        assert (one.release(told) == two.release(told)) == equal
    assert file.stat().st_mode & 0o077 == 0
    os.chmod(file, 0o644)
    served, printed = start("--upstream", VENDOR, "--secret", file, terminal=True)
    assert served is None
    assert "mode 0600" in printed
    start("--upstream", VENDOR, "--secret", tmp_path / "other", "--check")
    assert not (tmp_path / "other").exists(), "a check makes nothing"


def test_the_start_says_which_system_prompts_are_public_with_a_sample_of_both(start, tmp_path):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Answer maria@clinic.se in one\nsentence \x1b[31m.\n")
    printed = start("--upstream", VENDOR, "--public-prompt", prompt, "--check")[1]
    assert "declared public, goes out verbatim: Answer maria@clinic.se in one sentence \\x1b[31m." in printed
    assert "this one would read: " in printed
    assert "clinic.se" not in printed.partition("this one would read: ")[2]
    assert "no system prompt is declared public" in start("--upstream", VENDOR, "--check")[1]


def test_public_tools_come_from_a_file_and_anything_else_is_refused(start, tmp_path):
    file = tmp_path / "tools.json"
    tool = {"type": "function", "function": {"name": "look_up"}}
    schema = {"type": "json_schema", "json_schema": {"name": "note", "schema": {}}}
    file.write_text(json.dumps([tool, schema]))
    assert start("--upstream", VENDOR, "--public-tools", file, terminal=True)[0].tools.names == {"look_up"}
    for wrong in (
        "", "7", "[7]", '[{"type": "function"}]', '[{"type": "json_object"}]', '[{"function": {"name": "x"}}]',
    ):  # fmt: skip
        file.write_text(wrong)
        served, printed = start("--upstream", VENDOR, "--public-tools", file, terminal=True)
        assert served is None
        assert "must hold a JSON list of tools" in printed


def test_a_proxy_that_redacts_keeps_public_words_and_takes_no_mechanism(start):
    served, printed = start(
        "--upstream", VENDOR, "--redact", "--words", "common:2000", "--keep-words", "calendar", terminal=True
    )
    released = served.conversation.release([Message("user", "Please call Maria Garcia at 7 on Monday.")])
    assert released == ["Please call [name] at [number] on Monday."]
    assert "withholding" in printed
    for wrong in (("--redact", "--epsilon", "6"), ("--redact", "--found"), ("--words", "common:2000")):
        served, printed = start("--upstream", VENDOR, *wrong, terminal=True)
        assert served is None
        assert "--redact" in printed
