"""Secrets encrypted at rest: exact with the key, a marker without it, in clear nowhere. All keys here are made up."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cryptography", reason="needs the extra encrypt")

from foldaway import Session, SettingsError, StoreError
from foldaway.cli import main
from foldaway.protocols import Memory, Reader, SessionKey, Store
from foldaway.remembering import LongTermMemory, Pool
from foldaway.stores.encryption import EncryptingStore, Keys, new_key
from foldaway.stores.memory import MemoryStore
from foldaway.stores.moving import move_memories, move_session
from foldaway.stores.redaction import RedactingStore, readable, redact
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.histories import Writer
from foldaway.testing.store_contract import Clock, StoreContract

# In two parts each, so that no scanner takes this file for a leak.
API = "sk-" + "madeup-0123456789madeup0123456789madeup"
PASSWORD = "correct-horse-" + "made-up1"
JWT = "eyJ" + "madeupmadeup.eyJ" + "madeupmadeup.made-up"
PEM = "-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\n\nMADE+up/0=\n-----END RSA PRIVATE " + "KEY-----"
TEXT = (
    f"region = north\nurl = postgres://clerk:{PASSWORD}@db.example/stock\ntoken={JWT}\n{PEM}\nupload --key {API}\nend"
)
NEEDLES = (API, PASSWORD, JWT, "MADE+up/0=")
ONE, TWO = Keys([b"1" * 32]), Keys([b"2" * 32])
ANN = SessionKey(user="ann", name="main")


class TestEncryptingStore(StoreContract):
    def make(self, folder: Path, clock: Clock) -> Store:
        return EncryptingStore(SqliteStore(folder / "store.db", clock=clock), ONE)


WORDS = [
    "password",
    "token",
    "=",
    ": ",
    '"',
    "'",
    "\\",
    '\\"',
    "\n",
    " ",
    "[redacted:jwt:1]",
    "abc123def",
    "@",
    "http://u:",
]
WORDS += [API, JWT, PEM, PASSWORD, ONE.seal(f"password={PASSWORD}", "ann"), ONE.seal(f"key {API}", "eve")]
MIXED = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=12).map("".join)


@given(MIXED)
def test_what_was_sealed_opens_byte_for_byte_and_without_the_key_it_is_what_redacting_leaves(text: str) -> None:
    sealed = ONE.seal(text, "ann")
    assert ONE.open(sealed, "ann") == text
    assert ONE.seal(text, "ann") == sealed
    if "[encrypted:" not in text:
        assert readable(sealed) == redact(text) == TWO.open(sealed, "ann") == ONE.open(sealed, "eve")


@given(MIXED)
def test_sealed_json_stays_json(text: str) -> None:
    inner = json.dumps({"content": text, "arguments": json.dumps({"x": text})})
    json.loads(json.loads(ONE.seal(inner, "ann"))["arguments"])
    assert ONE.open(ONE.seal(inner, "ann"), "ann") == inner


@pytest.mark.parametrize(
    "unit", ["password=", "[encrypted:jwt:1:", "key sk-0123456789abcdefg ", '{"password": "abc1"} ']
)
def test_no_text_makes_it_slow(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    assert ONE.open(ONE.seal(text, "ann"), "ann") == text


def test_one_bit_changed_is_not_opened() -> None:
    sealed = ONE.seal(f"password={PASSWORD}", "ann")
    changed = sealed[:-2] + ("0" if sealed[-2] != "0" else "1") + "]"
    assert ONE.open(changed, "ann") == "password=[redacted:password:1]"


def test_a_token_copied_into_words_of_ones_own_is_not_opened() -> None:
    inner = MemoryStore()
    stolen = ONE.seal(f"password={PASSWORD}", "ann")
    for session in (ANN, SessionKey(user="eve", name="main")):
        store = EncryptingStore(inner, ONE)
        mine = store.open(session)
        store.append(mine, 0, 0, [json.dumps({"m": stolen})])
        assert json.loads(store.read(mine, 0)[0]) == {"m": stolen}  # their own words, byte for byte, and no more
        raw = inner.open(session)
        inner.append(raw, 0, 1, [stolen])  # as somebody stored it who has no key
    assert PASSWORD not in str(store.read(mine, 0))


def whole(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_no_secret_is_in_any_byte_of_the_store_and_all_come_back(tmp_path: Path) -> None:
    store = EncryptingStore(SqliteStore(tmp_path / "store.db"), ONE)
    mine = store.open(ANN)
    records = [json.dumps({"content": TEXT, "arguments": json.dumps({"x": TEXT})}), TEXT]
    store.append(mine, 0, 0, records)
    store.write_ledger(mine, 0, [json.dumps({"texts": {"1": TEXT}})])
    store.index(mine, [("1", TEXT)])
    note = store.put_note(mine, key=TEXT, text=TEXT, at=None)
    store.put_marks(mine, {"k": TEXT})
    store.put_memories(Reader(owner="ann"), [Memory(text=TEXT, key=TEXT, source=TEXT)])
    assert [text for _, text in store.without_vector("m", 9) if any(needle in text for needle in NEEDLES)] == []
    assert store.read(mine, 0) == records
    assert json.loads(store.read_ledger(mine, 0)[0])["texts"]["1"] == TEXT
    assert [each.text for each in store.notes(mine)] == [note.text] == [TEXT]
    assert store.note(mine, key=TEXT) == note
    assert store.marks("ann", ["k"]) == {"k": TEXT}
    assert {hit.ref for hit in store.search(mine, "region north")} == {"1", note.handle}
    assert store.search(mine, API.removeprefix("sk-")) == store.search(mine, "madeupmadeup") == []
    assert store.export_session(mine).branches[0].records == tuple(records)
    for data in (whole(tmp_path), str(store.inner.export_session(mine)).encode()):
        for needle in NEEDLES:
            for form in (needle.encode(), base64.b64encode(needle.encode()), needle.encode().hex().encode()):
                assert form not in data
    store.close()
    # Whoever opens it without the key reads the rest, and a marker in each secret's place.
    with SqliteStore(tmp_path / "store.db") as raw:
        keyless = RedactingStore(raw)
        assert keyless.read(keyless.open(ANN), 0) == [redact(record) for record in records]
        assert keyless.notes(keyless.open(ANN))[0].text == redact(TEXT)


def history() -> Writer:
    told = Writer("openai_chat")
    told.user("Deploy the harbour service with what stands in conf.yaml.")
    told.call("bash", TEXT + "\nline\n" * 2_000, command="cat conf.yaml")
    told.call("bash", f"password={PASSWORD} accepted", command=f"login --key {API}")
    told.say("Logged in.")
    told.user("Go on.")
    return told


def test_a_session_with_the_key_resumes_byte_for_byte_and_one_without_shows_markers(tmp_path: Path) -> None:
    url, told = f"sqlite:///{tmp_path / 'store.db'}", history()
    settings: dict[str, Any] = {"store": url, "user": "ann", "name": "main", "budget": 3_000}
    with Session(**settings, redact=ONE) as session:
        session.append(told.messages)
        shown = session.view().messages
        session.remember(f"The key is {API}.", key="k")
        raw = session.recall("#2").text
    assert all(needle.encode() not in whole(tmp_path) for needle in NEEDLES)
    with Session(**settings, redact=ONE) as session:
        assert session.sync(told.messages) == 0
        assert session.view().messages == shown
        assert session.recall("#2").text == raw
    for redacting in (True, False):
        with Session(**settings, redact=redacting) as session:
            if redacting:
                assert session.sync(told.messages) == 0  # recognised, on the branch it was on
                assert session.branch == 0
            seen = str(session.recall("#2").text) + str(session.view().messages)
            assert "[redacted:url-password:1]" in seen
            assert not any(needle in seen for needle in NEEDLES)
            seen += str(session.notes()) + str(session.note(key="k")) + str(session.search("key"))
            assert "The key is [redacted:" in seen
            assert not any(needle in seen for needle in NEEDLES)
            assert "[encrypted:" not in seen


@pytest.mark.parametrize("redacting", [False, True, ONE], ids=["as it is", "redacted", "encrypted"])
def test_what_only_looks_like_an_encrypted_secret_is_known_again(tmp_path: Path, redacting: Any) -> None:
    forged = f"[encrypted:password:1:1a2b3c4d:{'ab' * 32}]"
    told = [{"role": "user", "content": f"The dump says {forged}."}]
    settings: dict[str, Any] = {"store": f"sqlite:///{tmp_path / 'store.db'}", "budget": 3_000, "redact": redacting}
    with Session(**settings) as session:
        session.append(told)
        session.remember(forged, key="k")
    with Session(**settings) as session:
        assert (session.sync(told), session.branch) == (0, 0)
        if redacting is not True:
            assert session.messages == told
            assert session.notes()[0].text == forged


def test_memories_and_pools_never_hold_what_a_session_has_encrypted(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as inner:
        store = EncryptingStore(inner, ONE)
        with Session(store=inner, user="ann", name="main", budget=3_000, redact=ONE) as session:
            session.append(history().messages)
            LongTermMemory(store, Reader(owner="ann"), redact_secrets=False).learn(session)
            pool = Pool(store, "team", Reader(owner="ann")).create()
            shared = pool.share(session, 2, "public", as_="raw")
        store.open(ANN)
        assert API not in pool.open(shared.id)
        assert Pool(store, "team", Reader(owner="ann"), redact_secrets=False).open(shared.id).startswith(TEXT)
        assert all(needle.encode() not in whole(tmp_path) for needle in NEEDLES)


def test_a_store_that_was_not_encrypted_is_by_moving_it(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with SqliteStore(tmp_path / "old.db") as old, SqliteStore(tmp_path / "new" / "store.db") as new:
        mine = old.open(ANN)
        old.append(mine, 0, 0, [TEXT])
        old.put_note(mine, key=f"token={API}", text=TEXT, at=None)
        old.index(mine, [("1", TEXT)])
        old.put_memories(Reader(owner="ann"), [Memory(text=TEXT, key=f"token={API}")])
        here, there = EncryptingStore(old, ONE), EncryptingStore(new, ONE)
        move_session(here, there, ANN, delete=True)
        move_memories(here, there, "ann", delete=True)
        assert there.read(there.open(ANN), 0) == [TEXT]
        assert [note.text for note in there.notes(there.open(ANN))] == [TEXT]
        assert old.users() == []
        for folder in (tmp_path / "new", tmp_path):
            data = b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())
            assert [needle for needle in NEEDLES if needle.encode() in data] == []


# Keys


def test_another_key_is_told_at_once_and_a_rotated_one_opens_old_and_new(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as inner:
        store = EncryptingStore(inner, ONE)
        store.append(store.open(ANN), 0, 0, [f"password={PASSWORD}"])
        with pytest.raises(StoreError, match=f"encrypted with key {ONE.names[0]}; given: {TWO.names[0]}"):
            EncryptingStore(inner, TWO).open(ANN)
        both = Keys([b"2" * 32, b"1" * 32])
        store = EncryptingStore(inner, both)
        mine = store.open(ANN)
        store.append(mine, 0, 1, [f"key {API}"])
        assert store.read(mine, 0) == [f"password={PASSWORD}", f"key {API}"]
        for single in (ONE, TWO):
            with pytest.raises(StoreError, match="add that key"):
                EncryptingStore(inner, single).open(ANN)
        # Nothing was sealed in another session: any key may begin.
        EncryptingStore(inner, TWO).open(SessionKey(user="ann", name="other"))
        # Copied with both, all is under the newest; copied without any, as it was.
        with SqliteStore(tmp_path / "new.db") as fresh, SqliteStore(tmp_path / "same.db") as same:
            move_session(store, EncryptingStore(fresh, both), ANN)
            renewed = EncryptingStore(fresh, TWO)
            assert renewed.read(renewed.open(ANN), 0) == [f"password={PASSWORD}", f"key {API}"]
            move_session(inner, same, ANN)
            copied = EncryptingStore(same, both)
            assert copied.read(copied.open(ANN), 0) == store.read(mine, 0)
            with pytest.raises(StoreError, match="add that key"):
                EncryptingStore(same, TWO).open(ANN)


@pytest.mark.parametrize("text", ["", "# nothing\n", "short", "zz" * 32, "ab" * 31, "ab" * 33, "a" * 43])
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys"
    file.write_text(text)
    with pytest.raises(SettingsError, match="keys") as refused:
        Keys.read(file)
    assert not text.strip("# \n") or text.strip() not in str(refused.value)
    for source in ({}, {"FOLDAWAY_ENCRYPTION_KEY_FILE": str(tmp_path / "none")}):
        with pytest.raises(SettingsError, match="key"):
            Keys.from_environment(source)
    with pytest.raises(SettingsError):
        Keys([])


def test_keys_come_from_file_or_environment_and_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = new_key(), base64.urlsafe_b64encode(os.urandom(32)).decode()
    file = tmp_path / "keys"
    file.write_text(f"# newest first\n{first}  # 2031\n\n{second}\n")
    keys = Keys.read(file)
    assert len(keys.names) == 2
    assert Keys.from_environment({"FOLDAWAY_ENCRYPTION_KEYS": f"{first} {second}"}).names == keys.names
    assert first not in repr(keys) + str(vars(keys)) + str(keys.names)
    monkeypatch.setenv("FOLDAWAY_ENCRYPTION_KEY_FILE", str(file))
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Session(store=url, budget=3_000, redact="encrypt") as session:
        session.append(history().messages)
    with Session(store=url, budget=3_000, redact="encrypt") as session:
        assert API in str(session.recall("#3").text) + str(session.messages)
    assert API.encode() not in (tmp_path / "store.db").read_bytes()
    for wrong in ("yes", "seal", 1):
        with pytest.raises(SettingsError, match=r"expected True, False, 'encrypt' or Keys"):
            Session(store=url, budget=3_000, redact=wrong)  # type: ignore[arg-type]


def test_a_key_is_made_and_rotated_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys"
    assert main(["store", "key", str(file), "--rotate"]) != 0
    assert main(["store", "key", str(file)]) == 0
    first = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert main(["store", "key", str(file)]) != 0
    assert file.read_text().strip() == first
    assert main(["store", "key", str(file), "--rotate"]) == 0
    lines = file.read_text().split()
    assert lines[1:] == [first]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    said = "".join(capsys.readouterr())
    assert not any(line in said for line in lines)
    assert Keys.read(file).names[0] in said
