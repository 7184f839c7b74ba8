"""A PostgreSQL server of the tests' own, from Debian's binaries. It refuses root, who becomes ``postgres`` for it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

__all__ = ["binaries", "pool", "postgres"]


def binaries() -> Path | None:
    """Where ``initdb`` and ``postgres`` are, the newest version first."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]), reverse=True
    )
    if found:
        return found[0].parent
    known = shutil.which("initdb")
    return Path(known).resolve().parent if known else None


@contextmanager
def postgres() -> Iterator[str]:
    """A running server with an empty database; its connection string. It listens on a socket file only."""
    programs = binaries()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed: `make system`, or apt-get install postgresql")
    home = Path(tempfile.mkdtemp(prefix="agui-postgres-", dir="/tmp"))
    user = None
    if os.geteuid() == 0:
        known = pwd.getpwnam("postgres")
        user = known.pw_uid
        os.chown(home, known.pw_uid, known.pw_gid)
    data = home / "data"

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(programs / program), *arguments], user=user, cwd=home, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr or done.stdout}")

    try:
        run("initdb", "-D", str(data), "-U", "agui", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-k {home} -c listen_addresses='' -c fsync=off -c full_page_writes=off"
        run("pg_ctl", "-D", str(data), "-w", "-o", options, "-l", str(home / "log"), "start")
        try:
            yield f"postgresql://agui@/postgres?host={home}"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def pool(address: str) -> AsyncIterator[AsyncConnectionPool[Any]]:
    options = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    async with AsyncConnectionPool(address, max_size=5, kwargs=options, open=False) as connections:
        yield connections
