"""A LiteLLM gateway whose vendor gets releases only. Needs `pip install 'wordveil[litellm]' 'litellm[proxy]'`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import recording_vendor

CONFIG = """
model_list:
  - model_name: m
    litellm_params: {{model: openai/m, api_base: "{vendor}", api_key: none}}
guardrails:
  - guardrail_name: wordveil
    litellm_params:
      guardrail: wordveil.integrations.litellm.WordveilGuardrail
      mode: [pre_call, post_call]
      default_on: true
litellm_settings: {{callbacks: [logger.everything]}}
general_settings: {{master_key: sk-local}}
"""
LOGGER = """
from pathlib import Path

from litellm.integrations.custom_logger import CustomLogger


class Everything(CustomLogger):
    def log_pre_api_call(self, *told, **more): self.write("pre", (told, more))
    async def async_log_success_event(self, *told, **more): self.write("success", (told, more))
    async def async_log_failure_event(self, *told, **more): self.write("failure", (told, more))
    def write(self, event, told): Path(__file__).with_name(f"{event}.log").open("a").write(repr(told))


everything = Everything()
"""
NOTE = "Write to maria.lindqvist@clinic.se about case B-4711; she lives in Uppsala."
PRIVATE = ("lindqvist", "B-4711", "Uppsala")


def main() -> None:
    """Start vendor and gateway, ask once whole and once streamed, show who got what, loggers included."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = httpx.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"authorization": "Bearer sk-local"}, timeout=60
    )
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(CONFIG.format(vendor=recording_vendor.start()), encoding="utf-8")
        Path(folder, "logger.py").write_text(LOGGER, encoding="utf-8")
        command = [
            Path(sys.executable).parent / "litellm",
            "--config",
            config,
            "--port",
            str(port),
            "--host",
            "127.0.0.1",
        ]
        offline = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        running = subprocess.Popen(command, env=offline, stdout=sys.stderr)  # noqa: S603  # our own words
        try:
            wait_for(gateway, running)
            show(gateway)
            time.sleep(3)  # it logs after it has answered
            logged = [Path(folder, f"{event}.log").read_text() for event in ("pre", "success", "failure")]
        finally:
            running.terminate()
            running.wait()
    assert all(private not in each for each in logged for private in PRIVATE)


def wait_for(gateway: httpx.Client, running: subprocess.Popen[bytes]) -> None:
    """Wait until the gateway answers."""
    for _ in range(240):
        try:
            if gateway.get("/health/liveliness").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.5)
        if running.poll() is not None:
            break
    sys.exit("the gateway did not start")


def show(gateway: httpx.Client) -> None:
    """Ask, and compare."""
    body = {"model": "m", "messages": [{"role": "user", "content": NOTE}]}
    whole = gateway.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    with gateway.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as answer:
        data = [line[6:] for line in answer.iter_lines() if line.startswith("data: {")]
    streamed = "".join(json.loads(each)["choices"][0]["delta"].get("content") or "" for each in data)
    print("vendor:", recording_vendor.HEARD[-1]["messages"][-1]["content"])
    print("whole: ", whole)
    print("stream:", streamed)
    for heard in recording_vendor.HEARD:
        assert all(private not in json.dumps(heard) for private in PRIVATE)
    for reply in (whole, streamed):
        assert "maria.lindqvist@clinic.se" in reply
        assert "B-4711" in reply
    refused = gateway.post("/v1/chat/completions", json={**body, "stop": ["Uppsala"]})
    assert refused.status_code >= httpx.codes.BAD_REQUEST
    assert len(recording_vendor.HEARD) == 2  # nothing of it was sent


if __name__ == "__main__":
    main()
