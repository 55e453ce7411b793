-- The machine that has a session's folder: the name of a node, or empty for any.
ALTER TABLE sessions ADD COLUMN node TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_node ON sessions (node) WHERE node <> '';

-- A worker that serves others is a node; about is what it says of itself, in JSON.
ALTER TABLE workers ADD COLUMN node  TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN about TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- What one node asks of another. The asker removes the row.
CREATE TABLE calls (
  id       TEXT        COLLATE "C" PRIMARY KEY,
  node     TEXT        COLLATE "C" NOT NULL,     -- who is asked
  question BYTEA       NOT NULL,
  taken    TEXT        COLLATE "C" NOT NULL DEFAULT '', -- the worker that answers
  answer   BYTEA,
  at       TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX calls_open ON calls (node) WHERE taken = '';

-- Small things that all nodes share, such as tokens.
CREATE TABLE documents (
  name TEXT  COLLATE "C" PRIMARY KEY,
  body BYTEA NOT NULL
);

CREATE INDEX inbox_pending ON inbox (session) WHERE state = 'pending';
