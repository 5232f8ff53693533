"""Several processes, processes that are killed, and writes that were cut short."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from foldaway.protocols import SessionKey
from foldaway.stores import _wal
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.torn import tear_last_record

KEY = SessionKey(user="u", name="n")
WORDS = " ".join(f"word{number}" for number in range(40))

WRITER = """
import sys
from foldaway.protocols import SessionKey
from foldaway.stores.sqlite import SqliteStore
path, worker, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = SqliteStore(path)
shared = store.open(SessionKey(user="u", name="n"))
own = store.open(SessionKey(user="u", name=worker))
for n in range(count):
    store.put_note(shared, key=f"w{worker}-n{n}", text=f"entry w{worker} n{n}", at=None)
    assert store.append(own, 0, n, [f"record {n} of {worker} " + "x" * 300])
    print(n, flush=True)
store.close()
"""


def writer(path: Path, worker: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(worker), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_eight_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writers = [writer(path, worker, 50) for worker in range(8)]
    with SqliteStore(path) as store:
        while any(process.poll() is None for process in writers):
            for hit in store.search(store.open(KEY), "entry"):
                assert hit.text.startswith("entry w")
            time.sleep(0.01)
    for process in writers:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    with SqliteStore(path) as store:
        session = store.open(KEY)
        assert len(store.notes(session)) == 400
        note = store.note(session, key="w3-n49")
        assert note is not None
        assert note.text == "entry w3 n49"
        assert len(store.read(store.open(SessionKey(user="u", name="3")), 0)) == 50
        assert store.recovered == []


def test_threads_share_one_store(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        session = store.open(KEY)

        def tell(worker: int) -> None:
            for number in range(20):
                store.put_note(session, key=f"{worker}-{number}", text="x", at=None)

        threads = [threading.Thread(target=tell, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({note.handle for note in store.notes(session)}) == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_goes_on_with_a_connection_of_its_own(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    session = store.open(KEY)
    store.append(session, 0, 0, ["parent"])

    def child() -> None:
        assert store.append(session, 0, 1, ["child"])
        store.close()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert store.append(session, 0, 2, ["parent"])
    assert store.read(session, 0) == ["parent", "child", "parent"]
    store.close()


@pytest.mark.parametrize("seed", range(4))
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    process = writer(path, seed, 100_000)
    assert process.stdout is not None
    for _ in range(random.Random(seed).randrange(1, 120)):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0]
    told = [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    with SqliteStore(path) as store:
        notes = {note.key: note.text for note in store.notes(store.open(KEY))}
        records = store.read(store.open(SessionKey(user="u", name=str(seed))), 0)
    for number in range(max(told, default=0) + 1):
        assert notes[f"w{seed}-n{number}"] == f"entry w{seed} n{number}"
        assert records[number].startswith(f"record {number} of {seed} ")
    assert len(notes) - len(records) in (0, 1)


def twenty_notes(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    session = store.open(KEY)
    for number in range(20):
        store.put_note(session, key=f"n{number}", text=f"note {number} {WORDS}", at=None)
    return store


@pytest.mark.parametrize("keep_fraction", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_torn_record_is_left_out_and_reported_once(tmp_path: Path, keep_fraction: float) -> None:
    path = tmp_path / "store.db"
    killed = twenty_notes(path)
    tear_last_record(path, keep_fraction)
    killed.close()
    with SqliteStore(path) as store:
        session = store.open(KEY)
        assert len(store.recovered) == 1
        assert "unfinished write" in store.recovered[0]
        assert len(store.notes(session)) == 19
        note = store.note(session, key="n18")
        assert note is not None
        assert note.text == f"note 18 {WORDS}"
        assert store.note(session, key="n19") is None
        store.put_note(session, key="new", text="note after the crash", at=None)
        with SqliteStore(path) as second:
            assert second.recovered == []
    with SqliteStore(path) as store:
        assert store.recovered == []
        assert len(store.notes(store.open(KEY))) == 20


def test_a_torn_tail_is_noticed_while_others_are_at_work(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    killed = twenty_notes(path)
    tear_last_record(path, 0.5)
    killed.close()
    with SqliteStore(path) as first, SqliteStore(path) as second:
        assert (len(first.recovered), second.recovered) == (1, [])
        with open(_wal.wal_path(str(path)), "ab") as log:
            log.write(log_tail(path))
        with SqliteStore(path) as third:
            assert len(third.recovered) == 1
        first.put_note(first.open(KEY), key="k", text="x", at=None)
        assert len(second.notes(second.open(KEY))) == 20


def log_tail(path: Path) -> bytes:
    """A frame as a writer of this generation of the log would begin it."""
    header = _wal.read(str(path))[: _wal.HEADER_BYTES]
    return bytes(8) + header[16:24] + bytes(500)


def test_a_whole_transaction_is_never_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with twenty_notes(path) as store:
        whole = _wal.size(str(path))
        for frames in (0, 1, whole // 8240):
            assert _wal.cut_torn_tail(str(path), frames) == 0
        assert _wal.size(str(path)) == whole
        assert len(store.notes(store.open(KEY))) == 20


def test_a_whole_log_left_by_a_killed_process_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = writer(path, 0, 30)
    assert process.stdout is not None
    while process.stdout.readline() != "29\n":
        pass
    process.kill()
    process.communicate()
    with SqliteStore(path) as store:
        assert store.recovered == []
        assert len(store.notes(store.open(KEY))) == 30


def test_there_is_nothing_to_tear_in_a_closed_store(tmp_path: Path) -> None:
    twenty_notes(tmp_path / "store.db").close()
    with pytest.raises(ValueError, match="no transaction"):
        tear_last_record(tmp_path / "store.db", 0.5)
    with pytest.raises(ValueError, match="keep_fraction"):
        tear_last_record(tmp_path / "store.db", 1.0)


OPENER = """
import sys
from foldaway.protocols import SessionKey
from foldaway.stores.sqlite import SqliteStore
path, worker = sys.argv[1], sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for n in range(20):
    with SqliteStore(path) as store:
        store.put_note(store.open(SessionKey(user="u", name="n")), key=f"w{worker}-n{n}", text="x", at=None)
        assert store.recovered == [], store.recovered
"""


def test_eight_processes_open_and_write_one_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    command, pipe = [sys.executable, "-c", OPENER, str(path)], subprocess.PIPE
    openers = [subprocess.Popen([*command, str(n)], stdin=pipe, stdout=pipe, stderr=pipe, text=True) for n in range(8)]
    for process in openers:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in openers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in openers:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    with SqliteStore(path) as store:
        assert len(store.notes(store.open(KEY))) == 160


def test_eight_threads_make_one_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(10):
        path = tmp_path / f"store{attempt}.db"
        failures: list[Exception] = []
        start = threading.Barrier(8)

        def make(
            worker: int, path: Path = path, start: threading.Barrier = start, failures: list[Exception] = failures
        ) -> None:
            start.wait()
            try:
                with SqliteStore(path) as store:
                    store.put_note(store.open(KEY), key=str(worker), text="x", at=None)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=make, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        with SqliteStore(path) as store:
            assert len(store.notes(store.open(KEY))) == 8
