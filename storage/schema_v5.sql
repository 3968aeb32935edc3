-- Version 5: what the blocks held before a step (storage/held_blocks.h), so that all blocks of a
-- step are known without their history. Of the events by block only the allocations are left to be
-- found. And whether decisions are kept that set an accepted count to 1 and copy nothing: level
-- blocks lacked them before.
DROP INDEX block_events_by_block;
CREATE INDEX allocations_by_block ON block_events (session, block, step) WHERE kind = 0;
CREATE TABLE block_keyframes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  blocks BLOB NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
ALTER TABLE sessions ADD COLUMN keeps_count_resets INTEGER NOT NULL DEFAULT 0
  CHECK (keeps_count_resets IN (0, 1));
