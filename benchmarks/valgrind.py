"""Edge. Counts the instructions of a block of Python code, if this process runs under ``valgrind --tool=callgrind``.

Valgrind watches for a sequence of rotations that changes nothing, and takes it as a request. No Python function
executes it, so the few bytes of machine code are written here: instrumentation is on for the counted block only, which
keeps everything else (imports, recording) at a tolerable speed.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["ARCHITECTURES", "counted", "counts", "under_valgrind"]

_REQUEST = {
    # mov rax, rdi; mov rdx, rsi; rol rdi, 3; rol rdi, 13; rol rdi, 61; rol rdi, 51; xchg rbx, rbx; mov rax, rdx; ret
    "x86_64": "4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3",
}
"""``long request(long args[6], long default)`` by architecture: valgrind.h, VALGRIND_DO_CLIENT_REQUEST_EXPR."""

ARCHITECTURES = frozenset(_REQUEST)

_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = ord("C") << 24 | ord("T") << 16
_ZERO_STATS, _DUMP_STATS_AT, _START, _STOP = (_CALLGRIND + n for n in (1, 3, 4, 5))

_Request = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_long)


class _Machine:
    """The page that holds the code, and the function in it."""

    def __init__(self) -> None:
        code = bytes.fromhex(_REQUEST[platform.machine()])
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(code)
        self._call = _Request(ctypes.addressof(ctypes.c_char.from_buffer(self._page)))

    def request(self, number: int, argument: int = 0) -> int:
        """The answer; 0 without valgrind."""
        args = (ctypes.c_long * 6)(number, argument, 0, 0, 0, 0)
        return int(self._call(ctypes.addressof(args), 0))


_machine: _Machine | None = None


def _request(number: int, argument: int = 0) -> int:
    global _machine
    if _machine is None:
        _machine = _Machine()
    return _machine.request(number, argument)


def under_valgrind() -> bool:
    """This process runs under valgrind."""
    return platform.machine() in _REQUEST and _request(_RUNNING_ON_VALGRIND) > 0


@contextmanager
def counted(label: str) -> Iterator[None]:
    """Count what the block executes; `counts` finds it under the label. Cyclic garbage is left alone meanwhile."""
    text = ctypes.create_string_buffer(label.encode())
    gc.collect()
    gc.disable()
    _request(_ZERO_STATS)
    _request(_START)
    try:
        yield
    finally:
        _request(_STOP)
        _request(_DUMP_STATS_AT, ctypes.addressof(text))
        gc.enable()


def counts(folder: Path) -> dict[str, int]:
    """Instructions by label, from the files that callgrind wrote into this folder. Of one label the least."""
    found: dict[str, int] = {}
    for file in folder.iterdir():
        text = file.read_text(errors="replace")
        label = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
        if label and total:
            found[label[1]] = min(found.get(label[1], int(total[1])), int(total[1]))
    return found
