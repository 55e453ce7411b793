-- What the second version of the schema adds, and a session made with it.
ALTER TABLE sessions ADD COLUMN agent_sdk TEXT NOT NULL DEFAULT 'opencode';
INSERT INTO sessions (id, project_id, name, opencode_session_id, agent_sdk, created_at, updated_at) VALUES
  ('3b241101-e2bb-4255-8caf-4136c566a965', 'p1', 'write tests', '0197a9d0-0000-7000-8000-000000000001', 'claude-code', '2026-01-05T03:04:05.000Z', '2026-01-05T03:04:05.000Z');
