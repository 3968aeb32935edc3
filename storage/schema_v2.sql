-- Version 2: block tables as they were before a step (storage/keyframe.h). The table has rowids,
-- because blobs would make the search tree of its key deep.
CREATE TABLE keyframes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  tables BLOB NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
