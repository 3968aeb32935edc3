#include "storage/schema_v1.h"

namespace hybridscope {

// Later versions may add columns to a view; existing columns keep their meaning.
std::string_view schema_v1_views() {
  return R"sql(
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
)sql";
}

}  // namespace hybridscope
