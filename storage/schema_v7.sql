-- Version 7: what limited the tokens of each request whose tokens the scheduler counted.
CREATE TABLE token_terms (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  budget_left INTEGER NOT NULL,
  prefill_threshold INTEGER NOT NULL,
  shared_prefix_boundary INTEGER NOT NULL,
  num_computed_tokens INTEGER NOT NULL,
  num_new_tokens INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
