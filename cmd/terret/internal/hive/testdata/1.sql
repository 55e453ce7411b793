-- The tables as they were when there was only one agent.
CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL UNIQUE);
CREATE TABLE worktrees (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  worktree_id TEXT,
  project_id TEXT NOT NULL,
  name TEXT,
  status TEXT NOT NULL DEFAULT 'active',
  opencode_session_id TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
INSERT INTO projects VALUES ('p1', 'api', '{{dir}}/api');
INSERT INTO worktrees VALUES ('w1', 'p1', 'fix', '{{dir}}/fix');
INSERT INTO sessions VALUES
  ('3b241101-e2bb-4255-8caf-4136c566a962', 'w1', 'p1', 'fix the login', 'active', 'ses_one', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z'),
  ('3b241101-e2bb-4255-8caf-4136c566a963', NULL, 'p1', 'read the code', 'active', 'ses_two', '2026-01-03T03:04:05.000Z', '2026-01-03T03:04:05.000Z'),
  ('3b241101-e2bb-4255-8caf-4136c566a964', NULL, 'p1', 'never begun', 'active', NULL, '2026-01-04T03:04:05.000Z', '2026-01-04T03:04:05.000Z');
