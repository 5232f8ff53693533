"""Secrets found by shape and by name. All keys here are made up."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.protocols import SessionKey, Store
from foldaway.stores.memory import MemoryStore
from foldaway.stores.redaction import RedactingStore, redact
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.store_contract import Clock, StoreContract

# In two parts each, so that no scanner takes this file for a leak.
AWS = "AKIA" + "MADEUP0MADEUP000"
GITHUB = "ghp_" + "madeup" * 6
API = "sk-" + "madeup-0123456789madeup0123456789madeup"
PASSWORD = "correct-horse-" + "made-up"
JWT = "eyJ" + "madeupmadeup.eyJ" + "madeupmadeup.made-up"
PEM = "-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\n\nMADE+up/0=\n-----END RSA PRIVATE " + "KEY-----"
INI = f"region = north\naccess_key = {AWS}\ntoken: {GITHUB}\nurl = postgres://clerk:{PASSWORD}@db.example/stock\nend"
SECRETS = [AWS, GITHUB, API, PASSWORD, JWT, PEM]


class TestRedactingStore(StoreContract):
    def make(self, folder: Path, clock: Clock) -> Store:
        return RedactingStore(SqliteStore(folder / "store.db", clock=clock))


def test_the_text_around_secrets_stays() -> None:
    assert redact(INI) == (
        "region = north\naccess_key = [redacted:aws-key:1]\ntoken: [redacted:github-token:1]\n"
        "url = postgres://clerk:[redacted:url-password:1]@db.example/stock\nend"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"upload --key {API}", "upload --key [redacted:api-key:1]"),
        (f"{AWS} {'ASIA' + AWS[4:]} {AWS}", "[redacted:aws-key:1] [redacted:aws-key:2] [redacted:aws-key:1]"),
        (f"[redacted:aws-key:4] {AWS}", "[redacted:aws-key:4] [redacted:aws-key:5]"),
        (f"before {PEM} after", "before [redacted:private-key:1] after"),
        (f"{PEM[:60]}", "[redacted:private-key:1]"),
        (f"jwt {JWT}.", "jwt [redacted:jwt:1]"),
        ("Authorization: Bearer abcDEF123456xyz", "Authorization: Bearer [redacted:authorization:1]"),
        ('"Authorization": "Basic bWFkZTp1cA=="', '"Authorization": "Basic [redacted:authorization:1]"'),
        ("PASSWORD=hunter2", "PASSWORD=[redacted:password:1]"),
        ("My password is hunter22x. Go on.", "My password is [redacted:password:1]. Go on."),
        ("我的密码是hunter22x，谢谢", "我的密码是[redacted:password:1]，谢谢"),
        ("the password is required, it was wrong 3 times", "the password is required, it was wrong 3 times"),
        ('password = "two words" # why', 'password = "[redacted:password:1]" # why'),
        ("db_passwd: 'made up'", "db_passwd: '[redacted:password:1]'"),
        ('{"api_key": "abc123def456"}', '{"api_key": "[redacted:key:1]"}'),
        ("AWS_SECRET_ACCESS_KEY=made/UP+0123456789", "AWS_SECRET_ACCESS_KEY=[redacted:key:1]"),
        ("xoxb-" + "1234567890-made", "[redacted:slack-token:1]"),
        (r"https:\/\/u:made%40up@h\/x", r"https:\/\/u:[redacted:url-password:1]@h\/x"),
    ],
)
def test_secrets_are_replaced(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens = 4096; tokens: 12345678",
        "def login(password: str, token: str | None = None) -> None:",
        "login(password=password, token=get_token())",
        "if token == previous_token2:",
        'token = os.environ["TOKEN_2"]',
        "password=${PASSWORD} api_key=<your key> secret: ********",
        "the task-force is risk-averse, desk-01234567890123456789",
        "see https://docs.example:8080/a@b and mailto:clerk@db.example",
        "secret of the harbour",
        '{"password": null, "token": {"type": "string"}}',
    ],
)
def test_what_only_looks_alike_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("password", ['corr"x', "ends\\", "a\nb\"c'd", "two words", "it's", '\\"made"\\up'])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_password_in_json_goes_whole_and_json_stays_json(password: str, depth: int) -> None:
    text = json.dumps({"password": password, "b": "it's kept"})
    for _ in range(depth):
        text = json.dumps({"arguments": text})
    value: Any = json.loads(redact(text))
    for _ in range(depth):
        value = json.loads(value["arguments"])
    assert value == {"password": "[redacted:password:1]", "b": "it's kept"}


@pytest.mark.parametrize("depth", range(4))
@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_are_found_in_json_inside_json(secret: str, depth: int) -> None:
    line = f"postgres://clerk:{secret}@db" if secret == PASSWORD else secret
    value: Any = {"text": f"first line\n{line}\nlast line"}
    text = json.dumps(value)
    for _ in range(depth):
        text = json.dumps({"arguments": text})
    after = redact(text)
    assert json.dumps(secret)[1:-1] not in after
    for _ in range(depth):
        after = json.loads(after)["arguments"]
    found = json.loads(after)["text"]
    assert found.startswith("first line\n")
    assert found.endswith("\nlast line")
    assert "[redacted:" in found


@st.composite
def mixed(draw: st.DrawFn) -> str:
    words = [
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
        "Bearer ",
        "[redacted:jwt:1]",
        "abc123def",
        "@",
    ]
    return "".join(draw(st.lists(st.sampled_from([*words, *SECRETS, "http://u:"]) | st.text(max_size=5), max_size=12)))


@given(mixed())
def test_redacting_twice_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


NESTED: st.SearchStrategy[Any] = st.deferred(
    lambda: mixed() | st.dictionaries(mixed(), NESTED, max_size=3) | st.lists(NESTED, max_size=3)
)


@given(NESTED)
def test_json_stays_json(value: Any) -> None:
    shape = json.loads(redact(json.dumps({"a": json.dumps(value), "b": value})))
    assert list(shape) == ["a", "b"]
    json.loads(shape["a"])


@pytest.mark.parametrize(
    "unit",
    [
        "password=",
        "-----BEGIN PRIVATE KEY-----",
        "a://",
        "eyJaaaaaaaaa.",
        "token: ",
        "Bearer ",
        "\\",
        "-",
        "http://a:",
        'pwd"\\',
    ],
)
def test_no_text_makes_it_slow(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.perf_counter()
    redact(text)
    assert time.perf_counter() - start < 2


def test_no_secret_is_in_any_file_of_the_store(tmp_path: Path) -> None:
    store = RedactingStore(SqliteStore(tmp_path / "store.db"))
    session = store.open(SessionKey(user="u", name="n"))
    text = "\n".join([INI, JWT, PEM, f"upload --key {API}"])
    store.append(session, 0, 0, [json.dumps({"content": text, "arguments": json.dumps({"x": text})}), text])
    store.write_ledger(session, 0, [json.dumps({"texts": {"1": text}})])
    store.index(session, [("1", text)])
    store.put_note(session, key=text, text=text, at=None)
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    everything = [*store.read(session, 0), *store.read_ledger(session, 0), store.notes(session)[0].text]
    everything += [hit.text for hit in store.search(session, "region north")]
    assert len(everything) == 6
    for secret in [AWS, GITHUB, API, PASSWORD, JWT, "MADE+up/0="]:
        for form in (secret.encode(), base64.b64encode(secret.encode())):
            assert form not in files
        assert not [stored for stored in everything if secret in stored]
    assert all("region = north" in stored for stored in everything)
    assert store.note(session, key=text) is not None
    store.close()


def test_what_opening_found_is_passed_on() -> None:
    inner = MemoryStore()
    inner.recovered.append("something")
    assert RedactingStore(inner).recovered == ["something"]


@pytest.mark.parametrize(
    "value", [{"password=": {}}, ["password=", "abcdef"], {"a": "password="}, {"a": ["token: ", {"b": "c d e"}]}]
)
def test_a_name_at_the_end_of_a_json_string_takes_no_value_from_behind_it(value: Any) -> None:
    assert json.loads(redact(json.dumps(value))) == value
