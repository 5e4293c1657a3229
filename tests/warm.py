"""Processes that need not load the package: each is a fork of one that has.

`python tests/warm.py SOCKET` loads every module and serves; `python tests/warm.py SOCKET WORD...` runs the command of
these words, with its own folder, streams and variables; `... SOCKET program.py` a program, whose warnings are errors.
"""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LARGEST = 1 << 20  # of a request, in bytes
LARGE = {"__main__", "neural", "gpu", "integrations"}
QUIET = (
    "ignore::DeprecationWarning:datasets",
    "ignore::DeprecationWarning:dill",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
)
"""The warnings of other libraries."""
SILENT = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""What Python shows of no program but the one that it was started with."""


def asked(place: str, words: list[str]) -> int:
    """Have the server at the place run the words here, and return the exit status."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(place)
        variables = [f"{name}={value}" for name, value in os.environ.items()]
        request = "\0".join([os.getcwd(), str(len(words)), *words, *variables]).encode("utf-8", "surrogateescape")
        socket.send_fds(link, [struct.pack("I", len(request)) + request], [0, 1, 2])
        answer = link.recv(4)
    return struct.unpack("i", answer)[0] if answer else 70


@contextmanager
def server(place: Path) -> Iterator[list[str]]:
    """Serve at the place meanwhile; gives the start of a command line."""
    quiet = [part for warning in QUIET for part in ("-W", warning)]
    serving = [sys.executable, "-W", "error", *quiet, __file__, str(place)]
    with subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
        while not place.exists():
            assert running.poll() is None, "the server ended before it could serve"
            time.sleep(0.02)
        yield [sys.executable, "-I", "-S", __file__, str(place)]
        running.stdin.close()  # which ends it


def load() -> None:
    """Import every module of the package and the lab that the libraries here allow, but for those that load torch."""
    import importlib
    import pkgutil

    for name in ("wordveil", "wordveil_lab"):
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}.", onerror=lambda _: None):
            if not LARGE & set(module.name.split(".")):
                with suppress(ImportError, OSError):
                    importlib.import_module(module.name)


def serve(place: str) -> tuple[socket.socket, list[str]]:
    """Wait for requests until standard input ends; returns, in a fork for each, its connection and its words."""
    import select
    import warnings

    sys.path.pop(0)
    load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    while True:
        if 0 in select.select([listener, 0], [], [])[0]:
            os._exit(0)
        link, _ = listener.accept()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            listener.close()
            return link, received(link)
        link.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def received(link: socket.socket) -> list[str]:
    """Take the folder, the streams and the variables of a request; return its words."""
    message, streams, _, _ = socket.recv_fds(link, LARGEST, 3)
    (length,) = struct.unpack("I", message[:4])
    while len(message) < length + 4:
        message += link.recv(LARGEST)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    folder, number, *told = message[4:].decode("utf-8", "surrogateescape").split("\0")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variable.split("=", 1) for variable in told[int(number) :])
    return told[: int(number)]


def run(words: list[str]) -> None:
    """Run a program of Python or a command as the only thing that this process was started for."""
    import runpy
    import types
    import warnings

    sys.modules["__main__"] = types.ModuleType("__main__")
    if words[:1] and words[0].endswith(".py"):
        program = Path(words[0]).resolve()
        sys.argv = [str(program), *words[1:]]
        sys.path.insert(0, str(program.parent))
        runpy.run_path(str(program), run_name="__main__")
    else:
        warnings.resetwarnings()
        for kind in SILENT:
            warnings.simplefilter("ignore", kind)
        sys.path.insert(0, "")
        sys.argv = ["-c", *words]
        from wordveil.cli.main import main

        main()


def ended(words: list[str]) -> int:
    """Run the words; return the exit status that their process would have had."""
    import atexit
    import traceback

    try:
        run(words)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 (what an interpreter would do)
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    return status


if __name__ == "__main__":
    if sys.argv[2:]:
        sys.exit(asked(sys.argv[1], sys.argv[2:]))
    connection, its_words = serve(sys.argv[1])
    status = ended(its_words)
    with suppress(BrokenPipeError):
        connection.send(struct.pack("i", status))
    os._exit(status)
