"""The store in PostgreSQL, on a real server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from foldaway.protocols import Filter, Memory, Reader, SessionKey, Store
from foldaway.testing.memories_contract import unit
from foldaway.testing.postgres_server import why_not
from foldaway.testing.store_contract import Clock, StoreContract, refusal

if reason := why_not():
    pytest.skip(f"no PostgreSQL: {reason}", allow_module_level=True)

import psycopg

from foldaway.stores import _postgres_vectors
from foldaway.stores._base import find_tenant
from foldaway.stores._memory_rows import Who
from foldaway.stores._memory_telling import tell
from foldaway.stores._postgres_schema import _SHARED
from foldaway.stores.postgres import PostgresStore, translate

KEY = SessionKey(user="u", name="n")
_NUMBER = iter(range(10**6))
POOLS_CAME_WITH = PostgresStore.migrations.index(_SHARED)


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    """A name for a schema, dropped afterwards."""
    name = f"test_{next(_NUMBER)}"
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for (each,) in connection.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", [name]):
            connection.execute(f"DROP SCHEMA {each} CASCADE")


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _fresh(self, postgres_url: str, schema: str) -> Iterator[None]:
        self.url, self.schema = postgres_url, schema
        self.stores: list[PostgresStore] = []
        yield
        for store in self.stores:
            store.close()

    def make(self, folder: Path, clock: Clock) -> Store:
        return self.in_schema(self.schema, clock)

    def other(self, folder: Path, clock: Clock) -> Store:
        return self.in_schema(f"{self.schema}_other", clock)

    def in_schema(self, schema: str, clock: Clock) -> Store:
        self.stores.append(PostgresStore(self.url, clock=clock, schema=schema, most_connections=2))
        return self.stores[-1]


# Row-level security: raw SQL as the role of the queries


@contextmanager
def as_app(url: str, schema: str, **settings: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url) as connection:
        connection.execute(f"SET search_path = {schema}, public")
        connection.execute("SET ROLE foldaway_app")
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, true)", [f"foldaway.{name}", value])
        yield connection
        connection.rollback()


TABLES = ("sessions", "contents", "branches", "records", "ledger", "texts", "notes", "words", "memories", "vectors")


@pytest.fixture
def two_tenants(postgres_url: str, schema: str) -> dict[str, int]:
    """A session, notes and memories of ann and of bob; their numbers."""
    with PostgresStore(postgres_url, schema=schema, most_connections=2) as store:
        store.make_pool(Reader(owner="ann"), "team")
        store.grant_pool(Reader(owner="ann"), "team", {"user:bob": "writer", "group:writers": "reader"})
        for user in ("ann", "bob"):
            session = store.open(SessionKey(user=user, name="main"))
            store.append(session, 0, 0, [f"record of {user}"])
            store.write_ledger(session, 0, [f"entry of {user}"])
            store.put_note(session, key="k", text=f"note of {user}", at=None)
            kept = [Memory(text=f"crane of {user}"), Memory(text=f"hidden crane of {user}", pool="team")]
            shown = [Memory(text=f"crane {who}", pool="team", access=who) for who in ("public", "group:writers")]
            ids = store.put_memories(Reader(owner=user), [*kept, *shown])
            store.put_vectors("m", [(each, [1.0, 0.0]) for each in ids])
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(f"SELECT name, id FROM {schema}.tenants").fetchall()
        return {bytes(name).decode(): number for name, number in rows}


def test_raw_sql_sees_no_row_without_a_tenant(postgres_url: str, schema: str, two_tenants: dict[str, int]) -> None:
    for tenant in ({}, {"tenant": ""}, {"tenant": "999"}):
        with as_app(postgres_url, schema, **tenant) as connection:
            for table in (*TABLES, "tenants", "memory_words"):
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table


def test_raw_sql_sees_the_rows_of_its_tenant_only(postgres_url: str, schema: str, two_tenants: dict[str, int]) -> None:
    ann, bob = two_tenants["ann"], two_tenants["bob"]
    with as_app(postgres_url, schema, tenant=str(ann)) as connection:
        for table in (*TABLES, "memory_words"):
            everybody = f"SELECT DISTINCT tenant FROM {table}"
            assert connection.execute(everybody).fetchall() == [(ann,)], table
            aimed = connection.execute(f"SELECT * FROM {table} WHERE tenant = %s", [bob]).fetchall()
            assert aimed == [], table
        found = connection.execute("SELECT rows_of_memory_words(%s::tsquery, 99)", [f"'{bob}/crane'"]).fetchall()
        assert found == []


def test_raw_sql_sees_of_a_pool_what_its_rights_admit(
    postgres_url: str, schema: str, two_tenants: dict[str, int]
) -> None:
    ann, bob = two_tenants["ann"], two_tenants["bob"]
    of_bob = "SELECT convert_from(access, 'UTF8') FROM memories WHERE tenant = %s ORDER BY 1"
    for user, rights, expected in (
        ("ann", [], []),
        ("ann", ["public"], ["public"]),
        ("ann", ["public", "group:writers"], ["group:writers", "public"]),
        ("ann", ["group:readers"], []),
        # Who is no member sees nothing, whatever access it has; a group may be one.
        ("eve", ["public"], []),
        ("eve", ["public", "group:readers", "group:ann"], []),
        ("eve", ["public", "group:writers"], ["group:writers", "public"]),
    ):
        hexed = ",".join(right.encode().hex() for right in rights)
        with as_app(postgres_url, schema, tenant=str(ann), access=hexed, user=user.encode().hex()) as connection:
            assert [access for (access,) in connection.execute(of_bob, [bob])] == expected
            near = connection.execute("SELECT count(*) FROM vectors WHERE tenant = %s", [bob]).fetchone()
            assert near == (len(expected),)
            # What may be read may not be changed.
            changed = connection.execute("UPDATE memories SET superseded = 1 WHERE tenant = %s", [bob]).rowcount
            gone = connection.execute("DELETE FROM memories WHERE tenant = %s", [bob]).rowcount
            assert (changed, gone) == (0, 0)


def test_raw_sql_cannot_write_for_another_tenant_or_change_what_is_append_only(
    postgres_url: str, schema: str, two_tenants: dict[str, int]
) -> None:
    ann, bob = two_tenants["ann"], two_tenants["bob"]
    for sql in (
        f"INSERT INTO records VALUES (1, 0, 99, 1, {bob})",
        f"INSERT INTO sessions (tenant, name) VALUES ({bob}, 'x')",
        f"UPDATE texts SET tenant = {bob}",
        "INSERT INTO tenants (name) VALUES ('eve')",
        "UPDATE records SET content = 1",
        "UPDATE ledger SET content = 1",
        "UPDATE contents SET data = 'x'",
        "UPDATE notes SET key = 'x'",
        "DROP TABLE records",
        "ALTER TABLE records DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE mine (x int)",
    ):
        refused = pytest.raises(psycopg.Error, match=r"row-level security|permission denied|must be owner")
        with as_app(postgres_url, schema, tenant=str(ann)) as connection, refused:
            connection.execute(sql)


def test_raw_sql_lets_nobody_into_a_pool(postgres_url: str, schema: str, two_tenants: dict[str, int]) -> None:
    public = b"public".hex()
    with as_app(postgres_url, schema, tenant="999", access=public, user=b"eve".hex()) as connection:
        for table in ("pools", "pool_members", "pool_scopes", "memories", "vectors", "memory_words", "tombstones"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table
        assert connection.execute("SELECT foldaway_scopes()").fetchall() == []
        word = connection.execute(f"SELECT scope, tenant FROM {schema}.memory_words").fetchall()
        assert word == []
    copied = r"""INSERT INTO memories (scope, tenant, superseded, told_at, words, item, access, kind, pool, subject,
        task, source, session, owner, handle, digest, packed, data)
        SELECT -7, 999, 0, 0, 0, 0, 'public', 'x', 'team', '', '', '', '', 'eve', '\x01', '\x01', 0, 'x'"""
    for sql in (
        copied,
        "INSERT INTO pool_members VALUES (1, 'user:eve', 2)",
        "UPDATE pool_members SET who = 'user:eve'",
        "INSERT INTO pool_scopes VALUES (-7, 1)",
        "INSERT INTO pools (name) VALUES ('mine')",
        f"INSERT INTO tombstones VALUES ({two_tenants['ann']}, 'x', '', 'x', 1)",
    ):
        with as_app(postgres_url, schema, tenant="999", access=public, user=b"eve".hex()) as connection:
            if sql.startswith("UPDATE"):
                assert connection.execute(sql).rowcount == 0
                continue
            with pytest.raises(psycopg.Error, match="row-level security"):
                connection.execute(sql)


def test_pools_of_older_stores_belong_to_who_wrote_first_and_their_writers_stay_members(
    postgres_url: str, schema: str
) -> None:
    class Before(PostgresStore):
        migrations = PostgresStore.migrations[:POOLS_CAME_WITH]

    with Before(postgres_url, schema=schema) as store:
        told = [
            (b"ann", "team", "public"), (b"bob", "team", "public"), (b"ann", "team@zoe", "group:@zoe"),
            (b"bob", "team@", "owner"), (b"bob", "other", "public"),
        ]  # fmt: skip
        for number, (owner, pool, access) in enumerate(told):
            with store._writing() as db:
                tenant = store._tenant(db, owner)
                db.enter(tenant)
                who = Who(tenant, owner, ())
                memory = Memory(text=f"word {number}", pool=pool, access=access)
                tell(db, who, [store._draft(who, memory, number, None, None)])
    with PostgresStore(postgres_url, schema=schema) as store:
        ann, bob, zoe = (Reader(owner=name) for name in ("ann", "bob", "zoe"))
        assert store.pool_members(ann, "team") == {"user:ann": "owner", "user:bob": "writer", "user:zoe": "reader"}
        assert store.pool_members(bob, "other") == {"user:bob": "owner"}
        everywhere = Filter(pools=("team", "team@", "team@zoe", "other"))
        for reader, texts in ((ann, 3), (bob, 4), (zoe, 3), (Reader(owner="eve"), 0)):
            assert len(store.find_memories(reader, everywhere)) == texts, reader


def test_the_queries_run_as_that_role(postgres_url: str, schema: str) -> None:
    with PostgresStore(postgres_url, schema=schema) as store, store._reading() as db:
        assert db.rows("SELECT current_user::text") == [("foldaway_app",)]


def test_an_ordinary_user_that_owns_its_database_will_do(postgres_url: str) -> None:
    """Not a superuser, whom no policy would stop: the policies hold for it, and it may do what the store needs."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for sql in (
            "CREATE ROLE clerk LOGIN CREATEROLE",
            "CREATE DATABASE ordinary OWNER clerk",
        ):
            connection.execute(sql)
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'foldaway_app'").fetchall():
            connection.execute("GRANT foldaway_app TO clerk")
    with psycopg.connect(postgres_url.replace("/postgres?", "/ordinary?"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    url = postgres_url.replace("//postgres:@", "//clerk@").replace("/postgres?", "/ordinary?")
    assert url.count("clerk") == 1
    assert "/ordinary?" in url
    with PostgresStore(url, most_connections=2) as store:
        session = store.open(KEY)
        store.append(session, 0, 0, ["a record"])
        ids = store.put_memories(Reader(owner="u"), [Memory(text="crane"), Memory(text="tug")])
        store.put_vectors("m", [(each, [1.0, 0.0]) for each in ids])
        assert store.by_words(Reader(owner="u"), Filter(), "tug", 3)[0][0] == ids[1]
        assert store.forget_memories(Reader(owner="u"), ids[:1]) == 1
        assert len(store.by_vector(Reader(owner="u"), Filter(), "m", [1.0, 0.0], 3)) == 1
        store.delete(session)
    with as_app(url, "foldaway", tenant="999") as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchall() == [(0,)]


# Opening


def test_a_newer_schema_is_refused_with_both_versions(postgres_url: str, schema: str) -> None:
    PostgresStore(postgres_url, schema=schema).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"UPDATE {schema}.schema_version SET version = 99")
    said = refusal(lambda: PostgresStore(postgres_url, schema=schema))
    assert "version 99" in said
    assert f"up to {len(PostgresStore.migrations)}" in said
    assert "upgrade" in said


class Later(PostgresStore):
    migrations = (*PostgresStore.migrations, ("ALTER TABLE sessions ADD COLUMN colour TEXT DEFAULT 'blue'",))


class Wrong(PostgresStore):
    migrations = (*PostgresStore.migrations, ("CREATE TABLE half (x INT)", "INSERT INTO nowhere VALUES (1)"))


def test_an_older_schema_comes_forward_whole_or_not_at_all(postgres_url: str, schema: str) -> None:
    with PostgresStore(postgres_url, schema=schema) as store:
        store.append(store.open(KEY), 0, 0, ["a record"])
    assert "nowhere" in refusal(lambda: Wrong(postgres_url, schema=schema))
    with Later(postgres_url, schema=schema) as store:
        assert store.read(store.open(KEY), 0) == ["a record"]
    assert "upgrade" in refusal(lambda: PostgresStore(postgres_url, schema=schema))


def test_tables_of_another_program_are_left_alone(postgres_url: str, schema: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.mine (x INT)")
    assert "another program" in refusal(lambda: PostgresStore(postgres_url, schema=schema))


def test_what_is_wrong_with_a_server_is_said_without_the_password(postgres_url: str) -> None:
    gone = "postgresql://me:hidden@127.0.0.1:1/foldaway?connect_timeout=2"
    for url, word in ((gone, "cannot be reached"), (postgres_url.replace("/postgres?", "/nosuch?"), "createdb")):
        said = refusal(lambda url=url: PostgresStore(url))  # type: ignore[misc]
        assert word in said
        assert "hidden" not in said
        assert "\n" not in said
    assert "schema" in refusal(lambda: PostgresStore(postgres_url, schema="a; DROP"))


def test_every_exception_of_the_driver_is_translated() -> None:
    kinds = [kind for kind in vars(psycopg.errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 100
    for kind in kinds:
        assert str(translate(kind("why"), "postgresql://x")).startswith("store postgresql://x")


# Several processes

WRITER = """
import sys
from foldaway.protocols import Memory, Reader, SessionKey
from foldaway.stores import _postgres_vectors
from foldaway.stores.postgres import PostgresStore, translate
url, schema, worker, count = sys.argv[1:4] + [int(sys.argv[4])]
store = PostgresStore(url, schema=schema, most_connections=1)
shared = store.open(SessionKey(user="u", name="n"))
for n in range(count):
    store.put_note(shared, key=f"w{worker}-n{n}", text=f"entry w{worker} n{n}", at=None)
    (told,) = store.put_memories(Reader(owner="u"), [Memory(text=f"memory w{worker} n{n}", key="subject")])
    store.put_vectors("m", [(told, [1.0, 0.0])])
    print(n, flush=True)
store.close()
"""


def writer(url: str, schema: str, worker: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, url, schema, str(worker), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_start_and_write_at_once_lose_nothing(postgres_url: str, schema: str) -> None:
    writers = [writer(postgres_url, schema, worker, 15) for worker in range(4)]
    for process in writers:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    reader = Reader(owner="u")
    with PostgresStore(postgres_url, schema=schema) as store:
        assert len(store.notes(store.open(KEY))) == 60
        assert len(store.find_memories(reader, Filter())) == 60
        assert len(store.find_memories(reader, Filter(current_only=True))) == 1
        assert len(store.by_vector(reader, Filter(), "m", [1.0, 0.0], 99)) == 60


def test_what_was_acknowledged_survives_kill_9_of_its_process(postgres_url: str, schema: str) -> None:
    process = writer(postgres_url, schema, 0, 100_000)
    assert process.stdout is not None
    for _ in range(7):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0]
    told = 7 + sum(line.endswith("\n") for line in rest.splitlines(keepends=True))
    with PostgresStore(postgres_url, schema=schema) as store:
        assert len(store.notes(store.open(KEY))) - told in (0, 1)
        memories = store.find_memories(Reader(owner="u"), Filter())
        assert {memory.text for memory in memories} >= {f"memory w0 n{number}" for number in range(told)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_goes_on_with_connections_of_its_own(postgres_url: str, schema: str) -> None:
    with PostgresStore(postgres_url, schema=schema) as store:
        session = store.open(KEY)
        store.append(session, 0, 0, ["parent"])
        pid = os.fork()
        if pid == 0:
            code = 1
            with suppress(BaseException):
                code = 0 if store.append(session, 0, 1, ["child"]) else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert store.append(session, 0, 2, ["parent"])
        assert store.read(session, 0) == ["parent", "child", "parent"]


def test_threads_share_one_store_and_few_connections(postgres_url: str, schema: str) -> None:
    with PostgresStore(postgres_url, schema=schema, most_connections=2) as store:
        session = store.open(KEY)

        def tell(worker: int) -> None:
            for number in range(10):
                store.put_note(session, key=f"{worker}-{number}", text="x", at=None)

        threads = [threading.Thread(target=tell, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.notes(session)) == 40


def test_a_text_with_more_words_than_one_row_of_the_index_holds_is_found_whole(postgres_url: str, schema: str) -> None:
    with PostgresStore(postgres_url, schema=schema) as store:
        session = store.open(KEY)
        text = " ".join(f"word-{number:x}-{number * 7919:x}" for number in range(60_000))
        store.index(session, [("1", text)])
        for number in (0, 31_000, 59_999):
            assert [hit.ref for hit in store.search(session, f"{number * 7919:x}")] == ["1"]


def test_a_whole_large_scope_is_searched_by_index_and_others_one_by_one(
    postgres_url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_postgres_vectors, "FEW", 20)
    monkeypatch.setattr(_postgres_vectors, "INDEX_ABOVE", 40)
    rng = random.Random(5)
    reader, other = Reader(owner="u"), Reader(owner="v")
    with PostgresStore(postgres_url, schema=schema) as store:
        # As where numpy is not installed: with it, large owners' vectors are mirrored.
        store._vectors = _postgres_vectors.PgVectors(mirrored=False)
        ids = store.put_memories(reader, [Memory(text=f"m {n}", task="t" * (n % 40 == 0)) for n in range(400)])
        theirs = store.put_memories(other, [Memory(text=f"m {n}") for n in range(400)])
        vectors = {each: unit(*(rng.gauss(0, 1) for _ in range(8))) for each in [*ids, *theirs]}
        store.put_vectors("m", list(vectors.items()))
        assert store.without_vector("m", 9) == []
        query = unit(*(rng.gauss(0, 1) for _ in range(8)))

        def exact(among: list[str]) -> list[str]:
            return sorted(among, key=lambda each: -sum(a * b for a, b in zip(vectors[each], query, strict=True)))[:10]

        found = [each for each, _ in store.by_vector(reader, Filter(), "m", query, 10)]
        assert len(set(found) & set(exact(ids))) >= 8
        filtered = [each for each, _ in store.by_vector(reader, Filter(tasks=("t",)), "m", query, 10)]
        assert filtered == exact(ids[::40])
        with psycopg.connect(postgres_url) as connection:
            made = connection.execute("SELECT indexname FROM pg_indexes WHERE schemaname = %s", [schema]).fetchall()
        assert sum(name.startswith("vectors_near_") for (name,) in made) == 2


def test_a_large_owners_vectors_are_mirrored_and_follow_what_another_process_writes(
    postgres_url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy")
    from foldaway.stores import _sealed, _vectors

    for module, name, value in (
        *((_postgres_vectors, "INDEX_ABOVE", 40), (_sealed, "PIECE", 64), (_sealed, "LEAST", 16)),
        (_vectors, "_WORTH_SETTLING", 16),
    ):
        monkeypatch.setattr(module, name, value)
    rng = random.Random(5)
    reader, query = Reader(owner="u"), unit(*range(1, 9))
    vectors: dict[str, list[float]] = {}

    def tell(store: PostgresStore, text: str, count: int, owner: Reader = reader) -> None:
        ids = store.put_memories(owner, [Memory(text=f"{text} {n}", kind=("a", "b")[n % 2]) for n in range(count)])
        made = {each: unit(*(rng.gauss(0, 1) for _ in range(8))) for each in ids}
        store.put_vectors("m", list(made.items()))
        if owner is reader:
            vectors.update(made)

    def exact() -> list[str]:
        return sorted(vectors, key=lambda each: -sum(a * b for a, b in zip(vectors[each], query, strict=True)))[:10]

    def nearest(store: PostgresStore, owner: Reader = reader, kinds: tuple[str, ...] = ()) -> list[str]:
        return [each for each, _ in store.by_vector(owner, Filter(kinds=kinds), "m", query, 10)]

    with PostgresStore(postgres_url, schema=schema) as one, PostgresStore(postgres_url, schema=schema) as other:
        tell(one, "first", 100)
        tell(one, "theirs", 100, Reader(owner="v"))
        assert nearest(other) == nearest(one) == exact()
        assert one.without_vector("m", 9) == []
        tell(other, "second", 50)
        gone = exact()[:2]
        assert other.forget_memories(reader, gone) == 2
        for each in gone:
            del vectors[each]
        changed = list(vectors)[7]
        vectors[changed] = query
        other.put_vectors("m", [(changed, query)])
        assert nearest(other) == nearest(one) == exact()
        assert nearest(one)[0] == changed
        kinds = {memory.kind for memory in one.memories(reader, nearest(one, kinds=("b",)))}
        assert kinds == {"b"}
        assert not set(nearest(one, Reader(owner="v"))) & set(vectors)
        assert nearest(one, Reader(owner="nobody")) == []
    with PostgresStore(postgres_url, schema=schema) as again:
        assert nearest(again) == exact()
        for owner in ("u", "v", "nobody"):
            with again._reading() as db:
                tenant = find_tenant(db, owner.encode())
                db.enter(tenant or -1)
                assert {scope for (scope,) in db.rows("SELECT scope FROM mirrors")} == ({tenant} if tenant else set())
                assert {each for (each,) in db.rows("SELECT tenant FROM forgotten")} <= {tenant}


def test_words_are_found_in_every_block_of_rows(
    postgres_url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foldaway.stores import _memory_words, _postgres_transaction

    for module in (_memory_words, _postgres_transaction):
        monkeypatch.setattr(module, "BLOCK_ROWS", 32)
    monkeypatch.setattr(_memory_words, "COMMON", 20)
    reader = Reader(owner="u")
    with PostgresStore(postgres_url, schema=schema) as store:
        texts = [f"common e\\v'n/t{n} 日志{n % 50}" for n in range(200)]
        ids = store.put_memories(reader, [Memory(text=text) for text in texts])
        for number in (0, 31, 32, 150, 199):
            assert store.by_words(reader, Filter(), f"common n/t{number}", 5)[0][0] == ids[number]
        assert {each for each, _ in store.by_words(reader, Filter(), "志7", 9)} == {ids[n] for n in (7, 57, 107, 157)}
        assert len(store.by_words(reader, Filter(), "common", 5)) == 5
        store.forget_memories(reader, ids[150:151])
        assert ids[150] not in [each for each, _ in store.by_words(reader, Filter(), "n/t150", 5)]


def test_a_connection_that_broke_while_unused_is_passed_over(postgres_url: str, schema: str) -> None:
    reader = Reader(owner="u")
    with PostgresStore(postgres_url, schema=schema, most_connections=2) as store:
        (kept,) = store.put_memories(reader, [Memory(text="kept")])
        calls: list[Callable[[], list[Memory]]] = [
            lambda: store.memories(reader, [kept]),
            lambda: store.find_memories(reader, Filter()),
        ]
        for call in calls:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query <> '' AND pid <> %s"
                connection.execute(end, [connection.info.backend_pid])
            assert [memory.text for memory in call()] == ["kept"]


def test_reading_by_ids_shows_each_reader_its_own_and_leaves_nothing_behind(postgres_url: str, schema: str) -> None:
    with PostgresStore(postgres_url, schema=schema, most_connections=1) as store:
        mine = store.put_memories(Reader(owner="u"), [Memory(text="old", key="k"), Memory(text="mine", key="k")])
        theirs = store.put_memories(Reader(owner="v"), [Memory(text="theirs")])
        both = [*mine, *theirs, "m:" + "0" * 32, "no id"]
        for _ in range(7):
            first, second = store.memories(Reader(owner="u"), both)
            assert (first.text, first.superseded_by, second.text) == ("old", mine[1], "mine")
            assert [memory.text for memory in store.memories(Reader(owner="v"), both)] == ["theirs"]
            assert store.memories(Reader(owner="nobody"), both) == []
        with store._pool.connection() as connection:
            left = "SELECT current_setting('foldaway.tenant', true), current_setting('foldaway.user', true)"
            assert connection.execute(left).fetchone() == ("", "")


def test_what_is_committed_late_is_not_overlooked_once_all_seemed_to_have_vectors(
    postgres_url: str, schema: str
) -> None:
    with PostgresStore(postgres_url, schema=schema) as store:
        (early,) = store.put_memories(Reader(owner="u"), [Memory(text="early")])
        store.put_vectors("m", [(early, [1.0, 0.0])])
        with store._writing() as db:
            tenant = store._tenant(db, b"late")
            db.enter(tenant)
            who = Who(tenant, b"late", ())
            tell(db, who, [store._draft(who, Memory(text="late"), 1, None, None)])
            (after,) = store.put_memories(Reader(owner="u"), [Memory(text="after")])
            store.put_vectors("m", [(after, [0.0, 1.0])])
            assert [store.without_vector("m", 9) for _ in range(4)] == [[]] * 4
        assert [text for _, text in store.without_vector("m", 9)] == ["late"]
        store.put_vectors("m", [(name, [0.0, 1.0]) for name, _ in store.without_vector("m", 9)])
        assert [store.without_vector("m", 9) for _ in range(4)] == [[]] * 4
        assert store._vectors._whole


def test_a_mirror_serves_threads_that_read_and_write_at_once(
    postgres_url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy", reason="mirrors need numpy")
    from foldaway.stores._mirror import Mirror

    add = Mirror._add

    def slowly(self: Mirror, piece: Any) -> None:
        time.sleep(0.01)  # others come in between, if anybody can
        add(self, piece)

    monkeypatch.setattr(Mirror, "_add", slowly)
    monkeypatch.setattr(_postgres_vectors, "INDEX_ABOVE", 10)
    reader, rng = Reader(owner="ann"), random.Random(3)
    failures: list[Exception] = []
    doubled: list[int] = []
    with PostgresStore(postgres_url, schema=schema) as store:

        def told(count: int, part: int) -> None:
            ids = store.put_memories(reader, [Memory(text=f"memory {part} {n}") for n in range(count)])
            store.put_vectors("m", [(each, unit(*(rng.gauss(0, 1) for _ in range(8)))) for each in ids])

        def searches(_: int) -> None:
            try:
                for _ in range(15):
                    found = store.by_vector(reader, Filter(), "m", unit(1, 2, 3, 4, 5, 6, 7, 8), 200)
                    doubled.append(len(found) - len({name for name, _ in found}))
            except Exception as error:
                failures.append(error)

        told(50, 0)
        threads = [threading.Thread(target=searches, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for part in range(1, 6):
            told(20, part)
        for thread in threads:
            thread.join()
        assert not failures
        assert not any(doubled)
        assert len(store.by_vector(reader, Filter(), "m", unit(1, 2, 3, 4, 5, 6, 7, 8), 200)) == 150
