#include "storage/schema_v1.h"

namespace hybridscope {

// Requests are numbered from 0 in order of arrival; -1: no request. Blocks, columns, rows and
// groups are the engine's. Enums are stored as codes of enum_names. Columns follow
// sessions/record/step_fields.h.
std::string_view schema_v1_steps() {
  return R"sql(
CREATE TABLE sessions (
  session INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(name) > 0),
  kind TEXT NOT NULL CHECK (kind IN ('run', 'judge')),
  status TEXT NOT NULL
    CHECK (status IN ('recording', 'complete', 'stopped', 'interrupted', 'failed')),
  status_reason TEXT NOT NULL DEFAULT '',
  level TEXT NOT NULL CHECK (level IN ('counts', 'blocks', 'full')),
  created_us INTEGER NOT NULL,
  program TEXT NOT NULL,
  source TEXT NOT NULL,
  model TEXT NOT NULL,
  mamba_cache_mode TEXT NOT NULL,
  engine TEXT NOT NULL,
  runner TEXT NOT NULL,
  async_scheduling INTEGER NOT NULL,
  num_speculative_tokens INTEGER NOT NULL,
  num_blocks INTEGER NOT NULL,
  plan TEXT NOT NULL,
  parent INTEGER REFERENCES sessions (session) ON DELETE SET NULL,
  parent_name TEXT,
  forked_at INTEGER,
  note TEXT NOT NULL DEFAULT '',
  num_steps INTEGER NOT NULL DEFAULT 0,
  num_request_steps INTEGER NOT NULL DEFAULT 0,
  num_errors INTEGER NOT NULL DEFAULT 0,
  num_warnings INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_by_parent ON sessions (parent);

CREATE TABLE enum_names (
  enum TEXT NOT NULL,
  code INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (enum, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE kv_cache_groups (
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  grp INTEGER NOT NULL,
  kind TEXT NOT NULL,
  block_size INTEGER NOT NULL,
  num_layers INTEGER NOT NULL,
  PRIMARY KEY (session, grp)
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  request INTEGER NOT NULL,
  name TEXT NOT NULL,
  first_step INTEGER NOT NULL,
  PRIMARY KEY (session, request)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  committed_step INTEGER NOT NULL,
  time_us INTEGER NOT NULL,
  duration_us INTEGER NOT NULL,
  token_budget INTEGER NOT NULL,
  budget_overridden INTEGER NOT NULL,
  num_scheduled_tokens INTEGER NOT NULL,
  num_running INTEGER NOT NULL,
  num_waiting INTEGER NOT NULL,
  num_free_blocks INTEGER NOT NULL,
  num_unfinished INTEGER NOT NULL,
  num_pending_commands INTEGER NOT NULL,
  num_reqs INTEGER NOT NULL,
  num_prefills INTEGER NOT NULL,
  num_draft_tokens INTEGER NOT NULL,
  num_prompt_tokens INTEGER NOT NULL,
  num_hit_tokens INTEGER NOT NULL,
  num_output_tokens INTEGER NOT NULL,
  num_finished INTEGER NOT NULL,
  num_preempted INTEGER NOT NULL,
  num_evicted INTEGER NOT NULL,
  num_state_copies INTEGER NOT NULL,
  state_copy_bytes INTEGER NOT NULL,
  num_errors INTEGER NOT NULL,
  num_warnings INTEGER NOT NULL,
  PRIMARY KEY (session, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE digests (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  commands INTEGER NOT NULL,
  schedule INTEGER NOT NULL,
  blocks INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  layout INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  metadata INTEGER NOT NULL,
  commits INTEGER NOT NULL,
  findings INTEGER NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE graph_padding (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  runtime_mode INTEGER NOT NULL,
  num_tokens_padded INTEGER NOT NULL,
  num_reqs_padded INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  uniform_decode INTEGER NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE commands (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  command INTEGER NOT NULL,
  request INTEGER NOT NULL,
  value INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE rows (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  request INTEGER NOT NULL,
  admission INTEGER NOT NULL,
  run INTEGER NOT NULL,
  reported_num_computed_tokens INTEGER NOT NULL,
  num_scheduled_tokens INTEGER NOT NULL,
  num_draft_tokens INTEGER NOT NULL,
  num_drafts_offered INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  num_output_placeholders INTEGER NOT NULL,
  num_prompt_tokens INTEGER NOT NULL,
  placeholder_drafts INTEGER NOT NULL,
  num_hit_tokens INTEGER NOT NULL,
  row INTEGER,
  num_computed_tokens INTEGER,
  row_class INTEGER,
  is_prefilling INTEGER,
  num_accepted_tokens_before INTEGER,
  num_accepted_tokens INTEGER,
  accepted_from INTEGER,
  num_draft_count INTEGER,
  num_sampled_tokens INTEGER,
  slot INTEGER,
  previous_row INTEGER,
  origin INTEGER,
  PRIMARY KEY (session, step, scheduled),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE commits (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  num_computed_tokens INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  num_output_placeholders INTEGER NOT NULL,
  num_appended_tokens INTEGER NOT NULL,
  num_drafts_next INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE preemptions (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE skipped_requests (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE lookups (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  num_hit_tokens INTEGER NOT NULL,
  admitted INTEGER NOT NULL,
  max_cache_hit_length INTEGER NOT NULL,
  longest_hit_length INTEGER NOT NULL,
  num_rounds INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE lookup_groups (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  present_length INTEGER NOT NULL,
  hit_length INTEGER NOT NULL,
  miss_block INTEGER NOT NULL,
  planned_column INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal, grp),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE step_groups (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  accepted_counts_given INTEGER NOT NULL,
  reused_metadata INTEGER NOT NULL,
  persistent_buffers_step INTEGER NOT NULL,
  PRIMARY KEY (session, step, grp),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
)sql";
}

}  // namespace hybridscope
