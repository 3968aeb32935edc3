-- Version 4: who wrote a block last, and since when it has been the same block, without reading the
-- events of other blocks.
DROP INDEX write_events_by_block;
CREATE INDEX write_events_by_content ON write_events (session, block, content, step, place);
CREATE INDEX block_events_by_block ON block_events (session, block, step, ordinal)
  WHERE kind IN (0, 3, 4, 5);
