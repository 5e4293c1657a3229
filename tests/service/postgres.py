"""A PostgreSQL server of the tests' own, on a Unix socket and nowhere else, from Debian's packages."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = os.geteuid() == 0


def program(name):
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    return found and str(found)


def missing_postgres():
    if any(program(name) is None for name in ("initdb", "postgres", "psql")):
        return "needs PostgreSQL: tools/install_system_parts postgresql"
    return ""


class Postgres:
    def __init__(self):
        # A socket's path must be short. In memory where there is such a place: killing the server loses nothing there.
        shared = Path("/dev/shm")
        self.place = Path(tempfile.mkdtemp(prefix="wvpg", dir=shared if os.access(shared, os.W_OK) else "/tmp"))
        if ROOT:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.place, user.pw_uid, user.pw_gid)
        self.number = 0
        self._run("initdb", "-D", str(self.place / "data"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N")
        self.start()

    def _command(self, name, *arguments):
        return [*(["runuser", "-u", "postgres", "--"] if ROOT else []), program(name), *arguments]

    def _run(self, name, *arguments):
        subprocess.run(self._command(name, *arguments), check=True, capture_output=True, cwd="/", timeout=60)

    def start(self):
        options = ("-D", str(self.place / "data"), "-k", str(self.place), "-h", "", "-c", "max_connections=300")
        with (self.place / "log").open("ab") as log:
            self.server = subprocess.Popen(self._command("postgres", *options), stdout=log, stderr=log, cwd="/")
        for _ in range(300):
            try:
                return self._run("psql", "-h", str(self.place), "-U", "postgres", "-c", "SELECT 1")
            except subprocess.CalledProcessError:
                time.sleep(0.1)
        raise AssertionError("PostgreSQL did not start")

    def kill(self):
        """End the server at once; what it had not written is lost."""
        main = int((self.place / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(main, 9)
        self.server.wait(timeout=20)
        time.sleep(0.5)  # its other processes notice and go

    def fresh(self):
        """Return the URL of a new, empty database."""
        self.number += 1
        self._run("psql", "-h", str(self.place), "-U", "postgres", "-c", f"CREATE DATABASE test{self.number}")
        return f"postgresql+psycopg://postgres@/test{self.number}?host={self.place}"

    def close(self):
        self.kill()
        shutil.rmtree(self.place)
