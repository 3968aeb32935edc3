#include "storage/schema_v1.h"

namespace hybridscope {

std::string_view schema_v1_blocks() {
  return R"sql(
CREATE TABLE block_events (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_commit INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  request INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  ref_cnt INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  block_hash INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE worker_table_changes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE copy_decisions (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  row INTEGER NOT NULL,
  request INTEGER NOT NULL,
  rule INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  resets_accepted_count INTEGER NOT NULL,
  has_mamba_state_idx INTEGER NOT NULL,
  mamba_state_idx INTEGER NOT NULL,
  num_accepted_tokens INTEGER NOT NULL,
  num_scheduled_tokens INTEGER NOT NULL,
  num_computed_tokens INTEGER NOT NULL,
  num_draft_tokens INTEGER NOT NULL,
  block_size INTEGER NOT NULL,
  computed_after INTEGER NOT NULL,
  num_tokens_running_state INTEGER NOT NULL,
  new_num_computed_tokens INTEGER NOT NULL,
  aligned_new_computed INTEGER NOT NULL,
  accept_token_bias INTEGER NOT NULL,
  src_col INTEGER NOT NULL,
  dst_col INTEGER NOT NULL,
  PRIMARY KEY (session, step, launch, decision),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE state_copies (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  conv_src_block INTEGER NOT NULL,
  temporal_src_block INTEGER NOT NULL,
  dst_block INTEGER NOT NULL,
  accept_token_bias INTEGER NOT NULL,
  PRIMARY KEY (session, step, launch, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE attention_writes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  row INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  first_slot INTEGER NOT NULL,
  num_slots INTEGER NOT NULL,
  first_token INTEGER NOT NULL,
  PRIMARY KEY (session, step, grp, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE metadata_arrays (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  name TEXT NOT NULL,
  dtype INTEGER NOT NULL,
  dims INTEGER NOT NULL,
  num_rows INTEGER NOT NULL,
  num_cols INTEGER NOT NULL,
  elements BLOB,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE write_events (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  place INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  content INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL,
  PRIMARY KEY (session, step, place),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX write_events_by_block ON write_events (session, block, step, place);

CREATE TABLE findings (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  rule TEXT NOT NULL,
  request INTEGER NOT NULL,
  row INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  content INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  expected INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  detail TEXT NOT NULL,
  cause_kind INTEGER NOT NULL,
  cause_step INTEGER NOT NULL,
  cause_ordinal INTEGER NOT NULL,
  cause_request INTEGER NOT NULL,
  cause_num_tokens INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE bookmarks (
  bookmark INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  note TEXT NOT NULL
) STRICT;
CREATE INDEX bookmarks_by_step ON bookmarks (session, step);
)sql";
}

}  // namespace hybridscope
