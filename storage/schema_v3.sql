-- Version 3: how a session's findings and digests were made. Nearly all sessions of older files
-- were checked step by step; their digests have version 1.
ALTER TABLE sessions ADD COLUMN check_scope TEXT NOT NULL DEFAULT 'step'
  CHECK (check_scope IN ('step', 'all'));
ALTER TABLE sessions ADD COLUMN digest_version INTEGER NOT NULL DEFAULT 1;
