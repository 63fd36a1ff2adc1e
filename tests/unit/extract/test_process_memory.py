from __future__ import annotations

import subprocess
import sys

import pytest

from sitelore.extract import process_memory
from sitelore.extract.process_memory import memory_for_page


class _Library:
    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def malloc_trim(self, _: int) -> None:
        self.calls.append(("trim", 0))

    def mallopt(self, _: int, size: int) -> None:
        self.calls.append(("apart from", size))


def test_only_a_large_page_preallocates_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    monkeypatch.setattr(process_memory, "_glibc", lambda: library)
    with memory_for_page(500_000):
        assert library.calls == []
    with memory_for_page(3_000_000):
        assert library.calls == [("trim", 0)]
    with memory_for_page(5_000_000):
        assert library.calls[1:] == [("trim", 0), ("apart from", 2**18)]
    assert library.calls[3:] == [("apart from", 4 * 2**20)]


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    process_memory._glibc.cache_clear()
    try:
        process_memory.give_back_large_blocks()
        process_memory.share_one_heap()
        with memory_for_page(3_000_000):
            assert process_memory._glibc() is None
    finally:
        process_memory._glibc.cache_clear()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's")
def test_threads_share_one_heap() -> None:
    code = """
import sys, threading
from sitelore.extract.process_memory import _glibc, share_one_heap
if _glibc() is None:
    sys.exit()
if "share" in sys.argv:
    share_one_heap()
def work():
    bytearray(100_000)
    with open("/proc/self/maps") as maps:
        # A heap of a thread's own is a reservation of 64 MB of which little is in use.
        lines = [line.split()[0].split("-") for line in maps if "---p" in line and line.rstrip().endswith(" 0")]
    print(any(2**25 < int(end, 16) - int(start, 16) <= 2**26 for start, end in lines))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    heaps = [
        subprocess.run([sys.executable, "-c", code, how], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        for how in ("share", "apart")
    ]
    assert heaps in (["False", "True"], ["", ""])
