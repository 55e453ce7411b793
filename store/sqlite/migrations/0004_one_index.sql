-- One index of the log instead of two: each one is another tree that every commit
-- writes to. What looks for a few kinds of events steps over the others in the index,
-- without reading their rows. Numbers are unique because they are given under the
-- session's fence.
DROP INDEX events_whole;
DROP INDEX events_seq;
CREATE UNIQUE INDEX events_seq ON events (session, seq, kind);
