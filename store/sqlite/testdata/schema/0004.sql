-- What a database of schema version 4 holds: made once from its migrations, and
-- never changed. Times are microseconds since 1970.

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

-- How many sessions are at work.
CREATE INDEX sessions_state ON sessions (state) WHERE deleted = 0;

-- What people and agents said, by its words. A row's number is the position of its event.
-- It is filled behind the log: upkeep 'searched' is the position of the last event in it.
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = "unicode61 remove_diacritics 0");
-- A deleted word is gone from the file, not only marked.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

CREATE INDEX events_said ON events (pos)
 WHERE kind IN ('turn.start', 'user.prompt', 'message.complete', 'turn.error');

-- One index of the log instead of two: each one is another tree that every commit
-- writes to. What looks for a few kinds of events steps over the others in the index,
-- without reading their rows. Numbers are unique because they are given under the
-- session's fence.
CREATE UNIQUE INDEX events_seq ON events (session, seq, kind);



-- Rows.

INSERT INTO sessions (key,id,agent,native_id,title,cwd,persona,mode,model,policy,permission_mode,one_shot,state,turn,created_at,updated_at,owner,epoch,last_seq,cursor,input,output,cache_read,cache_write,reasoning,cost,checkpoint_id,can_undo,can_redo,forked_from,handed_to,options,deleted) VALUES
  (1, '01950000-0000-7000-8000-000000000001', 'claude', 'native', 'A title', '/home/me', 'reviewer', 'workbench', 'opus', 'ask', 'default', 0, 'idle', '', 1767323045000006, 1767323100000000, '', 3, 6, X'637572736f72', 10, 20, 30, 40, 5, 123456789, 'chk_1', 1, 0, '', '', '{"tools":["Bash"],"keep_raw":true}', 0),
  (2, '01950000-0000-7000-8000-000000000002', 'codex', NULL, '', '/srv', NULL, '', '', '', '', 1, 'pending', '', 1767398400000000, 1767398400000000, '', 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0, '01950000-0000-7000-8000-000000000001', '', '{}', 0),
  (3, '01950000-0000-7000-8000-000000000003', 'codex', NULL, 'half deleted', '/srv', NULL, '', '', '', '', 0, 'idle', '', 1, 1, '', 2, 1, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0, '', '', '{}', 1);

INSERT INTO events (pos, session, seq, at, kind, body, blob, raw, raw_blob) VALUES
  (2, 1, 1, 1767323046000000, 'turn.start', CAST('{"v":1,"session":"01950000-0000-7000-8000-000000000001","turn":"trn_1","by":"me","time":"2026-01-02T03:04:06.000000Z","kind":"turn.start","actor":"root","visibility":"ui","data":{"prompt":[{"type":"text","text":"Do it"}],"origin":"user","later_field":{"kept":true}}}' AS BLOB), NULL, NULL, NULL),
  (4, 1, 2, 1767323050000000, 'permission.request', CAST('{"v":1,"session":"01950000-0000-7000-8000-000000000001","turn":"trn_1","time":"2026-01-02T03:04:10.000000Z","kind":"permission.request","actor":"root","expects":{"request_id":"req_1","gate":"permission","fallback":"deny"},"visibility":"ui","data":{"request_id":"req_1","tool_id":"tool_1","tool":"Bash","class":"execute","input":{"command":"ls"},"input_hash":"sha256:00","title":"ls"}}' AS BLOB), NULL, X'6e6f7420ff204a534f4e', NULL),
  (6, 1, 3, 1767323060000000, 'permission.decision', CAST('{"v":1,"session":"01950000-0000-7000-8000-000000000001","turn":"trn_1","by":"me","time":"2026-01-02T03:04:20.000000Z","kind":"permission.decision","actor":"root","visibility":"ui","data":{"request_id":"req_1","gate":"permission","behavior":"allow","source":"user","by":"me"}}' AS BLOB), NULL, NULL, NULL),
  (8, 1, 4, 1767323070000000, 'message.complete', NULL, X'cf0feb84478042f0c2adde1da92d1b5b2ed8e8b300c61e4446b3edbf7e5000c1', NULL, NULL),
  (10, 1, 5, 1767323099000000, 'turn.complete', CAST('{"v":1,"session":"01950000-0000-7000-8000-000000000001","turn":"trn_1","time":"2026-01-02T03:04:59.000000Z","kind":"turn.complete","actor":"root","visibility":"ui","data":{"text":"Done.","usage":{"input":10,"output":20,"cache_read":30,"cache_write":40,"reasoning":5},"cost_usd":0.123456789,"duration_ms":53000}}' AS BLOB), NULL, NULL, NULL),
  (12, 1, 6, 1767323100000000, 'question.request', CAST('{"v":1,"session":"01950000-0000-7000-8000-000000000001","time":"2026-01-02T03:05:00.000000Z","kind":"question.request","actor":"root","expects":{"request_id":"req_2","gate":"question","fallback":"reject","expires_at":"2036-01-02T03:04:05.000000Z"},"visibility":"ui","data":{"request_id":"req_2","questions":[{"id":"q1","text":"Which one?"}]}}' AS BLOB), NULL, NULL, NULL),
  (20, 3, 1, 1, 'unknown', CAST('{}' AS BLOB), NULL, NULL, NULL);

INSERT INTO blobs (hash, body) VALUES
  (X'cf0feb84478042f0c2adde1da92d1b5b2ed8e8b300c61e4446b3edbf7e5000c1', CAST('{"v":1,"session":"01950000-0000-7000-8000-000000000001","turn":"trn_1","time":"2026-01-02T03:04:30.000000Z","kind":"message.complete","actor":"root","visibility":"ui","data":{"message_id":"msg_1","role":"assistant","blocks":[{"type":"text","text":"Done."}]}}' AS BLOB));

INSERT INTO turns (id, session, state, origin, start_seq, end_seq, started_at, ended_at, input, output, cache_read, cache_write, reasoning, cost, before, after, changed, undone) VALUES
  ('trn_1', 1, 'completed', 'user', 1, 5, 1767323046000000, 1767323099000000, 10, 20, 30, 40, 5, 123456789, 'tree1', 'tree2', 1, 0);
INSERT INTO requests (id, session, turn, seq, epoch, gate, state, created_at, expires_at, decision, delivered) VALUES
  ('req_1', 1, 'trn_1', 2, 3, 'permission', 'decided', 1767323050000000, NULL, '{"request_id":"req_1","gate":"permission","behavior":"allow","source":"user","by":"me"}', 1),
  ('req_2', 1, '', 6, 3, 'question', 'open', 1767323100000000, 2082855845000000, NULL, 0);
INSERT INTO inbox (id, session, kind, body, sender, at, place, state) VALUES
  ('trn_1', 1, 'prompt', NULL, 'me', 1767323040000000, 1, 'taken'),
  ('trn_2', 1, 'prompt', CAST('{"blocks":[{"type":"text","text":"next"}]}' AS BLOB), 'me', 1767323160000000, 2, 'pending');
INSERT INTO workers (id, pid, host, started_at) VALUES ('wrk_01950000-0000-7000-8000-000000000009', 1, 'host', 1767322800000000);
INSERT INTO rules (id, effect, pattern, scope, session, made_by, made_at, hits) VALUES
  ('rul_1', 'allow', 'Bash(ls *)', 'always', '', 'me', 1767322800000000, 7),
  ('rul_2', 'deny', 'Read', 'session', '01950000-0000-7000-8000-000000000001', 'me', 1767322801000000, 0);
INSERT INTO usage_days (day, agent, model, cwd, turns, input, output, cache_read, cache_write, reasoning, cost) VALUES
  ('2026-01-02', 'claude', 'opus', '/home/me', 1, 10, 20, 30, 40, 5, 123456789);
INSERT INTO upkeep (name, value) VALUES ('compacted', 2), ('boot', 1), ('searched', 2);
INSERT INTO words (rowid, text) VALUES (2, 'Do it');

PRAGMA application_id = 1414681172;
PRAGMA user_version = 4;

