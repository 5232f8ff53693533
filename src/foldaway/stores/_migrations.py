"""The schema, as numbered steps that only go forward. A file's version is its `user_version`.

A step that was released is never edited; a change is a new step at the end. Text from outside is kept as BLOB,
so that NUL, lone surrogates and Unicode forms come back as they were.
"""

from __future__ import annotations

from collections.abc import Iterator


def _append_only(table: str, owned: str) -> Iterator[str]:
    """Triggers that refuse to change a row, and to delete one but while its session is being deleted."""
    yield f"""CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table}
        BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"""
    yield f"""CREATE TRIGGER {table}_kept BEFORE DELETE ON {table}
        WHEN NOT EXISTS (SELECT 1 FROM deleting WHERE {owned})
        BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"""


_FIRST = (
    "CREATE TABLE secret (value BLOB NOT NULL)",
    "INSERT INTO secret VALUES (randomblob(32))",
    "CREATE TABLE tenants (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE)",
    # Ids are never used again: they are part of handles and of indexed terms.
    """CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, name BLOB NOT NULL, handle TEXT UNIQUE,
        head INTEGER NOT NULL DEFAULT 0, texts INTEGER NOT NULL DEFAULT 0, words INTEGER NOT NULL DEFAULT 0,
        UNIQUE (tenant, name))""",
    "CREATE TABLE deleting (session INTEGER PRIMARY KEY, tenant INTEGER NOT NULL)",
    """CREATE TABLE contents (
        id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, hash BLOB NOT NULL,
        packed INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (tenant, hash))""",
    """CREATE TABLE branches (
        session INTEGER, branch INTEGER, parent INTEGER NOT NULL,
        records_at INTEGER NOT NULL, ledger_at INTEGER NOT NULL, PRIMARY KEY (session, branch)) WITHOUT ROWID""",
    """CREATE TABLE records (
        session INTEGER, branch INTEGER, position INTEGER, content INTEGER NOT NULL,
        PRIMARY KEY (session, branch, position)) WITHOUT ROWID""",
    """CREATE TABLE ledger (
        session INTEGER, branch INTEGER, position INTEGER, content INTEGER NOT NULL,
        PRIMARY KEY (session, branch, position)) WITHOUT ROWID""",
    """CREATE TABLE texts (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, ref BLOB NOT NULL, content INTEGER NOT NULL,
        words INTEGER NOT NULL, superseded INTEGER NOT NULL DEFAULT 0, UNIQUE (session, ref))""",
    "CREATE INDEX texts_superseded ON texts (session) WHERE superseded",
    """CREATE TABLE notes (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, key BLOB NOT NULL, at_microseconds INTEGER NOT NULL)""",
    "CREATE INDEX notes_key ON notes (session, key)",
    # Terms come ready-made, parted by blanks; the tokenizer must only leave their signs alone.
    r"""CREATE VIRTUAL TABLE words USING fts5 (
        terms, content = '', detail = none, columnsize = 0,
        tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_{|}~'")""",
    *_append_only("contents", "tenant = OLD.tenant"),
    *(
        statement
        for table in ("branches", "records", "ledger", "notes")
        for statement in _append_only(table, "session = OLD.session")
    ),
)

_SECOND = (
    # `digest` names what a memory says, by this store's secret; `handle` is its id, which stays when it moves here.
    # A scope is whose memories (a tenant's number) or which pool's (a negative number): see `_asking`.
    """CREATE TABLE memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, tenant INTEGER NOT NULL,
        superseded INTEGER NOT NULL, told_at INTEGER NOT NULL, expires_at INTEGER, words INTEGER NOT NULL,
        item INTEGER NOT NULL, access BLOB NOT NULL, kind BLOB NOT NULL, pool BLOB NOT NULL, subject BLOB NOT NULL,
        task BLOB NOT NULL, source BLOB NOT NULL, session BLOB NOT NULL, owner BLOB NOT NULL,
        handle BLOB NOT NULL UNIQUE, digest BLOB NOT NULL UNIQUE, packed INTEGER NOT NULL, data BLOB NOT NULL)""",
    "CREATE INDEX memories_told ON memories (scope, told_at)",
    "CREATE INDEX memories_kind ON memories (scope, kind, told_at)",
    "CREATE INDEX memories_subject ON memories (scope, subject) WHERE length(subject) > 0",
    "CREATE INDEX memories_task ON memories (scope, task) WHERE length(task) > 0",
    "CREATE INDEX memories_source ON memories (scope, source) WHERE length(source) > 0",
    "CREATE INDEX memories_session ON memories (scope, session) WHERE length(session) > 0",
    "CREATE INDEX memories_tenant ON memories (tenant) WHERE scope < 0",
    "CREATE INDEX memories_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL",
    # The first and the last id that a scope ever had serve to judge how common a word is.
    """CREATE TABLE memory_scopes (scope INTEGER PRIMARY KEY, memories INTEGER NOT NULL, words INTEGER NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL)""",
    "CREATE TABLE contradictions (one INTEGER, other INTEGER, PRIMARY KEY (one, other)) WITHOUT ROWID",
    "CREATE TABLE models (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, dimensions INTEGER NOT NULL)",
    # Ids only grow, so whoever mirrors vectors in memory reads on from where it was, and learns here what is gone.
    """CREATE TABLE vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, scope INTEGER NOT NULL,
        memory INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (memory, model))""",
    "CREATE INDEX vectors_scope ON vectors (model, scope)",
    """CREATE TABLE marks (tenant INTEGER, key BLOB, session INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (tenant, key)) WITHOUT ROWID""",
    "CREATE INDEX marks_session ON marks (session)",
    "CREATE TABLE forgotten (id INTEGER PRIMARY KEY AUTOINCREMENT, memory INTEGER NOT NULL)",
    r"""CREATE VIRTUAL TABLE memory_words USING fts5 (
        terms, content = '', detail = none, columnsize = 0,
        tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_{|}~'")""",
)

PIECE_OF_WORDS = r"""CREATE VIRTUAL TABLE IF NOT EXISTS {} USING fts5 (
    terms, content = '', detail = none, columnsize = 0,
    tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_{{|}}~'")"""
"""A further piece of the index of memories' words, made when the first of its rows comes."""

_THIRD = (
    # Indexes of words in which traces of what was deleted are left: a file of an earlier step may have some.
    "CREATE TABLE unindexed (piece TEXT PRIMARY KEY) WITHOUT ROWID",
    "INSERT INTO unindexed VALUES ('words'), ('memory_words')",
)

_FOURTH = (
    # Copies of vectors as mirrors in memory hold them, thousands in a row: see `_sealed`.
    """CREATE TABLE mirrors (
        id INTEGER PRIMARY KEY, model INTEGER NOT NULL, scope INTEGER NOT NULL, form INTEGER NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL)""",
    "CREATE INDEX mirrors_scope ON mirrors (model, scope, first, last)",
)

_BASE = "CASE WHEN instr(pool, x'40') > 0 THEN substr(pool, 1, instr(pool, x'40') - 1) ELSE pool END"
"""The name of the pool that a memory's place is a part of: up to the first "@"."""

_FIFTH = (
    # What was forgotten, hashed: a tenant's name stays as long as there is one.
    """CREATE TABLE tombstones (
        tenant INTEGER NOT NULL, content BLOB NOT NULL, place BLOB NOT NULL, salt BLOB NOT NULL,
        at_microseconds INTEGER NOT NULL, PRIMARY KEY (tenant, content)) WITHOUT ROWID""",
    "CREATE INDEX tombstones_place ON tombstones (tenant, place) WHERE length(place) > 0",
    # A pool's members are `user:NAME`, `group:NAME` or `public`; roles: 0 reads, 1 writes too, 2 owns.
    "CREATE TABLE pools (id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL UNIQUE)",
    """CREATE TABLE pool_members (pool INTEGER, who BLOB, role INTEGER NOT NULL,
        PRIMARY KEY (pool, who)) WITHOUT ROWID""",
    "CREATE INDEX pool_members_who ON pool_members (who)",
    "CREATE TABLE pool_scopes (scope INTEGER PRIMARY KEY, pool INTEGER NOT NULL)",
    "CREATE INDEX pool_scopes_pool ON pool_scopes (pool)",
    # Pools were open to all who knew their name: who wrote to one is a member, who wrote first owns it, and who was
    # handed something reads.
    f"INSERT INTO pools (name) SELECT {_BASE} FROM memories WHERE scope < 0 GROUP BY 1 ORDER BY min(id)",
    f"""INSERT OR IGNORE INTO pool_scopes SELECT DISTINCT m.scope, p.id FROM memories m
        JOIN pools p ON p.name = {_BASE} WHERE m.scope < 0""",
    """INSERT INTO pool_members SELECT DISTINCT s.pool, CAST('user:' || CAST(m.owner AS TEXT) AS BLOB), 1
        FROM memories m JOIN pool_scopes s ON s.scope = m.scope""",
    """UPDATE pool_members SET role = 2 WHERE (pool, who) IN (
        SELECT s.pool, CAST('user:' || CAST(m.owner AS TEXT) AS BLOB) FROM memories m
        JOIN pool_scopes s ON s.scope = m.scope WHERE m.id IN (
            SELECT min(o.id) FROM memories o JOIN pool_scopes t ON t.scope = o.scope GROUP BY t.pool))""",
    """INSERT OR IGNORE INTO pool_members
        SELECT DISTINCT s.pool, CAST('user:' || CAST(substr(m.pool, instr(m.pool, x'40') + 1) AS TEXT) AS BLOB), 0
        FROM memories m JOIN pool_scopes s ON s.scope = m.scope
        WHERE instr(m.pool, x'40') > 0 AND instr(m.pool, x'40') < length(m.pool)""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)
"""Step n (counted from 1) leads from version n - 1 to n."""
