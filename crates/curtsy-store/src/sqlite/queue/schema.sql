-- Instants are microseconds since the Unix epoch.

-- One row: what would otherwise have to be counted.
CREATE TABLE job (
    urls INTEGER NOT NULL,
    deferred INTEGER NOT NULL,
    last_lease INTEGER NOT NULL
) STRICT;
INSERT INTO job VALUES (0, 0, 0);

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    urls INTEGER NOT NULL DEFAULT 0,
    -- Those of its URLs that wait with a due above 0.
    deferred INTEGER NOT NULL DEFAULT 0,
    -- What its last release said.
    not_before INTEGER NOT NULL DEFAULT 0,
    parked TEXT,
    -- The later of not_before and the first due of its URLs; NULL where none waits. While the scope is
    -- leased it means nothing.
    due INTEGER,
    lease INTEGER,
    worker TEXT,
    leased_until INTEGER
) STRICT;
CREATE INDEX scope_ready ON scope (due, id) WHERE due IS NOT NULL AND leased_until IS NULL;
CREATE INDEX scope_leased ON scope (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX scope_parked ON scope (id) WHERE parked IS NOT NULL;

CREATE TABLE url (
    -- Input order.
    id INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    -- NULL: done with. 0: waits and was never deferred. Else: deferred until then.
    due INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    key_hash INTEGER NOT NULL,
    url TEXT NOT NULL,
    -- NULL: the same as url.
    key TEXT,
    out TEXT,
    headers TEXT
) STRICT;
-- The hash and not the key: a tenth of the size. The key itself is compared where the hash is found.
CREATE INDEX url_key ON url (key_hash);
CREATE INDEX url_waiting ON url (scope, due, id) WHERE due IS NOT NULL;

-- Apart from url, whose rows would grow by the line and have to move.
CREATE TABLE result (
    id INTEGER PRIMARY KEY,
    -- NULL: the URL was deferred, or waits again.
    outcome TEXT,
    line TEXT NOT NULL
) STRICT;

-- URLs that are done with, by scope; scope 0 is the whole job.
CREATE TABLE tally (
    scope INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (scope, outcome)
) STRICT, WITHOUT ROWID;
