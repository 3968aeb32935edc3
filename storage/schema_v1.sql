-- Version 1 of a session file. Released SQL never changes; later versions are separate upgrades.

-- Sessions, requests and a step's decisions. Requests are numbered from 0 in order of arrival; -1:
-- no request. Blocks, columns, rows and groups are the engine's. Enums are stored as codes of
-- enum_names. Columns follow sessions/record/step_fields.h.
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

-- Blocks, copies, writes, findings, bookmarks.
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

-- Views for common questions, and names of enums. Later versions may add columns to a view;
-- existing columns keep their meaning.
CREATE VIEW v_steps AS
SELECT s.session, n.name AS session_name, s.step, s.committed_step, s.time_us, s.duration_us,
  s.num_scheduled_tokens, s.token_budget, s.num_reqs, s.num_prefills, s.num_draft_tokens,
  s.num_prompt_tokens, s.num_hit_tokens, s.num_output_tokens, s.num_running, s.num_waiting,
  s.num_finished, s.num_preempted, s.num_evicted, s.num_free_blocks, s.num_state_copies,
  s.state_copy_bytes, m.name AS runtime_mode,
  CASE WHEN g.runtime_mode = 0 THEN 0
    ELSE g.num_tokens_padded - s.num_scheduled_tokens END AS num_padding_tokens,
  s.num_errors, s.num_warnings
FROM steps s
JOIN sessions n ON n.session = s.session
JOIN graph_padding g ON g.session = s.session AND g.step = s.step
LEFT JOIN enum_names m ON m.enum = 'runtime_mode' AND m.code = g.runtime_mode;

CREATE VIEW v_rows AS
SELECT r.session, n.name AS session_name, r.step, r.row, r.request, q.name AS request_name,
  a.name AS admission, c.name AS row_class, r.is_prefilling, r.num_computed_tokens,
  r.reported_num_computed_tokens, r.num_scheduled_tokens, r.num_draft_tokens, r.num_tokens,
  r.num_hit_tokens, r.num_accepted_tokens_before, r.num_accepted_tokens, r.num_sampled_tokens,
  f.name AS accepted_from, r.num_draft_count, r.slot, r.previous_row, o.name AS origin
FROM rows r
JOIN sessions n ON n.session = r.session
LEFT JOIN requests q ON q.session = r.session AND q.request = r.request
LEFT JOIN requests f ON f.session = r.session AND f.request = r.accepted_from
LEFT JOIN enum_names a ON a.enum = 'admission' AND a.code = r.admission
LEFT JOIN enum_names c ON c.enum = 'row_class' AND c.code = r.row_class
LEFT JOIN enum_names o ON o.enum = 'row_origin' AND o.code = r.origin;

CREATE VIEW v_copies AS
SELECT d.session, n.name AS session_name, d.step, l.name AS launch, d.decision, d.row, d.request,
  q.name AS request_name, u.name AS rule, o.name AS outcome, d.mamba_state_idx,
  d.num_accepted_tokens, d.num_scheduled_tokens, d.num_computed_tokens, d.num_draft_tokens,
  d.block_size, d.num_tokens_running_state, d.new_num_computed_tokens, d.aligned_new_computed,
  d.accept_token_bias, d.src_col, d.dst_col, d.resets_accepted_count, c.grp, c.conv_src_block,
  c.temporal_src_block, c.dst_block
FROM copy_decisions d
JOIN sessions n ON n.session = d.session
LEFT JOIN state_copies c ON c.session = d.session AND c.step = d.step AND c.launch = d.launch
  AND c.decision = d.decision
LEFT JOIN requests q ON q.session = d.session AND q.request = d.request
LEFT JOIN enum_names l ON l.enum = 'launch' AND l.code = d.launch
LEFT JOIN enum_names u ON u.enum = 'copy_rule' AND u.code = d.rule
LEFT JOIN enum_names o ON o.enum = 'copy_outcome' AND o.code = d.outcome;

CREATE VIEW v_block_events AS
SELECT e.session, n.name AS session_name, e.step, e.ordinal, e.at_commit, k.name AS kind, e.grp,
  e.request, q.name AS request_name, e.col, e.block, e.ref_cnt, e.num_tokens, e.block_hash
FROM block_events e
JOIN sessions n ON n.session = e.session
LEFT JOIN requests q ON q.session = e.session AND q.request = e.request
LEFT JOIN enum_names k ON k.enum = 'cache_event' AND k.code = e.kind;

CREATE VIEW v_findings AS
SELECT f.session, n.name AS session_name, f.step, f.ordinal, f.severity, f.rule, f.request,
  q.name AS request_name, f.row, f.grp, c.name AS content, f.col, f.block, f.expected, f.seen,
  f.detail, w.name AS cause_kind, f.cause_step, p.name AS cause_request_name, f.cause_num_tokens,
  f.text
FROM findings f
JOIN sessions n ON n.session = f.session
LEFT JOIN requests q ON q.session = f.session AND q.request = f.request
LEFT JOIN requests p ON p.session = f.session AND p.request = f.cause_request
LEFT JOIN enum_names c ON c.enum = 'content' AND c.code = f.content
LEFT JOIN enum_names w ON w.enum = 'write_kind' AND w.code = f.cause_kind;

CREATE VIEW v_requests AS
WITH
  scheduled AS (
    SELECT session, request, min(step) AS first_step, max(step) AS last_step,
      count(*) AS num_steps, sum(num_scheduled_tokens) AS num_scheduled_tokens,
      sum(num_hit_tokens) AS num_hit_tokens, max(num_prompt_tokens) AS num_prompt_tokens
    FROM rows GROUP BY session, request),
  returned AS (
    SELECT session, request, sum(num_appended_tokens) AS num_output_tokens,
      max(finished) AS finished
    FROM commits GROUP BY session, request),
  preempted AS (
    SELECT session, request, count(*) AS num_preemptions FROM preemptions
    GROUP BY session, request),
  copied AS (
    SELECT d.session, d.request, count(*) AS num_state_copies
    FROM state_copies c JOIN copy_decisions d ON d.session = c.session AND d.step = c.step
      AND d.launch = c.launch AND d.decision = c.decision
    GROUP BY d.session, d.request)
SELECT q.session, n.name AS session_name, q.request, q.name AS request_name,
  s.first_step, s.last_step, coalesce(s.num_steps, 0) AS num_steps, s.num_prompt_tokens,
  coalesce(s.num_scheduled_tokens, 0) AS num_scheduled_tokens,
  coalesce(s.num_hit_tokens, 0) AS num_hit_tokens,
  coalesce(r.num_output_tokens, 0) AS num_output_tokens, coalesce(r.finished, 0) AS finished,
  coalesce(p.num_preemptions, 0) AS num_preemptions,
  coalesce(c.num_state_copies, 0) AS num_state_copies
FROM requests q
JOIN sessions n ON n.session = q.session
LEFT JOIN scheduled s ON s.session = q.session AND s.request = q.request
LEFT JOIN returned r ON r.session = q.session AND r.request = q.request
LEFT JOIN preempted p ON p.session = q.session AND p.request = q.request
LEFT JOIN copied c ON c.session = q.session AND c.request = q.request;

CREATE VIEW v_graph_padding AS
SELECT g.session, n.name AS session_name, g.step, m.name AS runtime_mode, d.name AS reason,
  g.uniform_decode, s.num_scheduled_tokens AS num_tokens, g.num_tokens_padded, s.num_reqs,
  g.num_reqs_padded,
  CASE WHEN g.runtime_mode = 0 THEN 0
    ELSE g.num_tokens_padded - s.num_scheduled_tokens END AS num_padding_tokens
FROM graph_padding g
JOIN sessions n ON n.session = g.session
JOIN steps s ON s.session = g.session AND s.step = g.step
LEFT JOIN enum_names m ON m.enum = 'runtime_mode' AND m.code = g.runtime_mode
LEFT JOIN enum_names d ON d.enum = 'dispatch_reason' AND d.code = g.reason;
