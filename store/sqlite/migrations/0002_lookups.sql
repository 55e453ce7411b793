-- Everything but pieces of text, which are most of a log: what looks for a few kinds of
-- events, from either end, does not have to step over them.
CREATE INDEX events_whole ON events (session, seq, kind)
 WHERE kind NOT IN ('message.delta', 'reasoning.delta', 'tool.delta');

-- How many sessions are at work.
CREATE INDEX sessions_state ON sessions (state) WHERE deleted = 0;
