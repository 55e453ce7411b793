-- Times are microseconds since 1970, money is billionths of a dollar.

CREATE TABLE sessions (
  key             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL UNIQUE,
  agent           TEXT    NOT NULL,              -- never changes
  native_id       TEXT,                          -- the agent's own id of the session
  title           TEXT    NOT NULL DEFAULT '',
  cwd             TEXT    NOT NULL,
  persona         TEXT,
  mode            TEXT    NOT NULL DEFAULT '',
  model           TEXT    NOT NULL DEFAULT '',
  policy          TEXT    NOT NULL DEFAULT '',
  permission_mode TEXT    NOT NULL DEFAULT '',
  one_shot        INTEGER NOT NULL DEFAULT 0,
  state           TEXT    NOT NULL,
  turn            TEXT    NOT NULL DEFAULT '',   -- that runs now
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  owner           TEXT    NOT NULL DEFAULT '',   -- workers.id
  epoch           INTEGER NOT NULL DEFAULT 0,    -- +1 with each claim; fences every append
  last_seq        INTEGER NOT NULL DEFAULT 0,
  cursor          BLOB,                          -- the driver's
  input           INTEGER NOT NULL DEFAULT 0,
  output          INTEGER NOT NULL DEFAULT 0,
  cache_read      INTEGER NOT NULL DEFAULT 0,
  cache_write     INTEGER NOT NULL DEFAULT 0,
  reasoning       INTEGER NOT NULL DEFAULT 0,
  cost            INTEGER NOT NULL DEFAULT 0,
  checkpoint_id   TEXT,                          -- the latest
  can_undo        INTEGER NOT NULL DEFAULT 0,
  can_redo        INTEGER NOT NULL DEFAULT 0,
  forked_from     TEXT    NOT NULL DEFAULT '',
  handed_to       TEXT    NOT NULL DEFAULT '',
  options         TEXT    NOT NULL DEFAULT '{}',
  deleted         INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_updated ON sessions (updated_at);
CREATE INDEX sessions_cwd ON sessions (cwd);
CREATE INDEX sessions_owner ON sessions (owner) WHERE owner <> '';

CREATE TRIGGER sessions_agent_is_immutable BEFORE UPDATE OF agent ON sessions
WHEN NEW.agent <> OLD.agent
BEGIN
  SELECT RAISE(ABORT, 'the agent of a session never changes');
END;

-- The log. A rowid table: measured smaller and faster than WITHOUT ROWID.
CREATE TABLE events (
  pos      INTEGER PRIMARY KEY AUTOINCREMENT,    -- order of commits over all sessions
  session  INTEGER NOT NULL,                     -- sessions.key
  seq      INTEGER NOT NULL,                     -- dense in each session, from 1
  at       INTEGER NOT NULL,
  kind     TEXT    NOT NULL,
  body     BLOB,                                 -- JSON as first written; NULL if it is in blobs
  blob     BLOB,                                 -- blobs.hash
  raw      BLOB,                                 -- the agent's own message
  raw_blob BLOB
) STRICT;
CREATE UNIQUE INDEX events_seq ON events (session, seq);
CREATE INDEX events_blob ON events (blob) WHERE blob IS NOT NULL;
CREATE INDEX events_raw_blob ON events (raw_blob) WHERE raw_blob IS NOT NULL;

CREATE TABLE blobs (
  hash BLOB NOT NULL PRIMARY KEY,                -- SHA-256 of body
  body BLOB NOT NULL
) STRICT;

CREATE TABLE turns (
  id          TEXT    NOT NULL PRIMARY KEY,
  session     INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  origin      TEXT    NOT NULL,
  start_seq   INTEGER NOT NULL,
  end_seq     INTEGER,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  input       INTEGER NOT NULL DEFAULT 0,
  output      INTEGER NOT NULL DEFAULT 0,
  cache_read  INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  reasoning   INTEGER NOT NULL DEFAULT 0,
  cost        INTEGER NOT NULL DEFAULT 0,
  before      TEXT    NOT NULL DEFAULT '',       -- states of the folder
  after       TEXT    NOT NULL DEFAULT '',
  changed     INTEGER NOT NULL DEFAULT 0,
  undone      INTEGER NOT NULL DEFAULT 0         -- 1: can be redone; 2: no longer
) STRICT;
CREATE INDEX turns_session ON turns (session, start_seq);

CREATE TABLE requests (
  id         TEXT    NOT NULL PRIMARY KEY,
  session    INTEGER NOT NULL,
  turn       TEXT    NOT NULL,
  seq        INTEGER NOT NULL,                   -- of the event that holds its data
  epoch      INTEGER NOT NULL,
  gate       TEXT    NOT NULL,
  state      TEXT    NOT NULL,                   -- open; answered: by another process; decided: its event is in the log
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  decision   TEXT,
  delivered  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX requests_session ON requests (session);
CREATE INDEX requests_waiting ON requests (state, created_at) WHERE state <> 'decided';

CREATE TABLE inbox (
  id      TEXT    NOT NULL PRIMARY KEY,          -- of a prompt: its turn
  session INTEGER NOT NULL,
  kind    TEXT    NOT NULL,
  body    BLOB,
  sender  TEXT    NOT NULL DEFAULT '',
  at      INTEGER NOT NULL,
  place   INTEGER NOT NULL,
  state   TEXT    NOT NULL DEFAULT 'pending'     -- pending, taken, dropped
) STRICT;
CREATE INDEX inbox_pending ON inbox (session, place) WHERE state = 'pending';

CREATE TABLE workers (
  id         TEXT    NOT NULL PRIMARY KEY,       -- one incarnation; alive while its lock file is locked
  pid        INTEGER NOT NULL,
  host       TEXT    NOT NULL,
  started_at INTEGER NOT NULL
) STRICT;

CREATE TABLE rules (
  id      TEXT    NOT NULL PRIMARY KEY,
  effect  TEXT    NOT NULL,
  pattern TEXT    NOT NULL,
  scope   TEXT    NOT NULL,
  session TEXT    NOT NULL DEFAULT '',
  made_by TEXT    NOT NULL,
  made_at INTEGER NOT NULL,
  hits    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE usage_days (
  day         TEXT    NOT NULL,                  -- UTC, 2006-01-02
  agent       TEXT    NOT NULL,
  model       TEXT    NOT NULL,
  cwd         TEXT    NOT NULL,
  turns       INTEGER NOT NULL,
  input       INTEGER NOT NULL,
  output      INTEGER NOT NULL,
  cache_read  INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning   INTEGER NOT NULL,
  cost        INTEGER NOT NULL,
  PRIMARY KEY (day, agent, model, cwd)
) STRICT;

CREATE TABLE upkeep (
  name  TEXT    NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;

-- The names that the desktop app Hive uses for the same things.
CREATE VIEW hive_sessions AS
SELECT id,
       title AS name,
       CASE agent WHEN 'claude' THEN 'claude-code' ELSE agent END AS agent_sdk,
       native_id AS opencode_session_id,
       cwd, model, state AS status, created_at, updated_at
  FROM sessions
 WHERE deleted = 0;
