-- What people and agents said, by its words. A row's number is the position of its event.
-- It is filled behind the log: upkeep 'searched' is the position of the last event in it.
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = "unicode61 remove_diacritics 0");
-- A deleted word is gone from the file, not only marked.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

CREATE INDEX events_said ON events (pos)
 WHERE kind IN ('turn.start', 'user.prompt', 'message.complete', 'turn.error');
