-- What people and agents said, by its words, which terret finds itself: the database's
-- own parsers take a path or an address for one word. It is filled behind the log: upkeep
-- 'searched' is the position of the last event in it. It goes with its session, whoever
-- deletes that.
CREATE TABLE words (
  pos     BIGINT   PRIMARY KEY,                  -- of the event
  session BIGINT   NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  seq     BIGINT   NOT NULL,
  words   TSVECTOR NOT NULL
);
CREATE INDEX words_words ON words USING gin (words);
CREATE INDEX words_session ON words (session);

CREATE INDEX events_said ON events (pos)
 WHERE kind IN ('turn.start', 'user.prompt', 'message.complete', 'turn.error');
