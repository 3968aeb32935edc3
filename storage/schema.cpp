#include "storage/schema.h"

#include "core/base/check.h"
#include "core/caching/cache_events.h"
#include "core/model/kv_cache_spec.h"
#include "storage/schema_v1.h"

namespace hybridscope {
namespace {

// Version 2: block tables as they were before a step (storage/keyframe.h). The table has rowids,
// because blobs would make the search tree of its key deep.
constexpr std::string_view kKeyframes = R"sql(
CREATE TABLE keyframes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  tables BLOB NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
)sql";

// Version 3: how a session's findings and digests were made. Nearly all sessions of older files
// were checked step by step; their digests have version 1.
constexpr std::string_view kChecksOfSessions = R"sql(
ALTER TABLE sessions ADD COLUMN check_scope TEXT NOT NULL DEFAULT 'step'
  CHECK (check_scope IN ('step', 'all'));
ALTER TABLE sessions ADD COLUMN digest_version INTEGER NOT NULL DEFAULT 1;
)sql";

// Version 4: who wrote a block last, and since when it has been the same block, without reading the
// events of other blocks.
constexpr std::string_view kHistoryOfBlocks = R"sql(
DROP INDEX write_events_by_block;
CREATE INDEX write_events_by_content ON write_events (session, block, content, step, place);
CREATE INDEX block_events_by_block ON block_events (session, block, step, ordinal)
  WHERE kind IN (0, 3, 4, 5);
)sql";
// Version 5: what the blocks held before a step (storage/held_blocks.h), so that all blocks of a
// step are known without their history. Of the events by block only the allocations are left to be
// found. And whether decisions are kept that set an accepted count to 1 and copy nothing: level
// blocks lacked them before.
constexpr std::string_view kBlockKeyframes = R"sql(
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
)sql";
static_assert(static_cast<int>(CacheEventKind::allocated) == 0);

// Version 6: what a language model said and held (sessions/record/speech_json.h). Steps in which it
// did nothing have no row.
constexpr std::string_view kSpeech = R"sql(
ALTER TABLE sessions ADD COLUMN language TEXT NOT NULL DEFAULT '';
CREATE TABLE speech (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
CREATE VIEW v_tokens AS
SELECT s.session, n.name AS session_name, s.step, j.value ->> 0 AS request, q.name AS request_name,
  j.value ->> 1 AS position, j.value ->> 2 AS token, j.value ->> 3 AS lone_run,
  j.value ->> 4 AS drafted, j.value ->> 5 AS forced, j.value ->> 6 AS margin, j.value ->> 7 AS kl
FROM speech s
JOIN sessions n ON n.session = s.session
JOIN json_each(s.words, '$.tokens') j
LEFT JOIN requests q ON q.session = s.session AND q.request = j.value ->> 0;
CREATE VIEW v_state_differences AS
SELECT s.session, n.name AS session_name, s.step, j.value ->> 0 AS request, q.name AS request_name,
  j.value ->> 1 AS row, j.value ->> 2 AS grp, j.value ->> 3 AS layer,
  CASE j.value ->> 4 WHEN 0 THEN 'conv' ELSE 'temporal' END AS content,
  j.value ->> 5 AS is_read, j.value ->> 6 AS block, j.value ->> 7 AS num_tokens,
  j.value ->> 8 AS first_element, j.value ->> 9 AS num_elements, j.value ->> 10 AS largest
FROM speech s
JOIN sessions n ON n.session = s.session
JOIN json_each(s.words, '$.states') j
LEFT JOIN requests q ON q.session = s.session AND q.request = j.value ->> 0;
)sql";
static_assert(static_cast<int>(StateKind::conv) == 0);

// Version 7: what limited the tokens of each request whose tokens the scheduler counted.
constexpr std::string_view kTokenTerms = R"sql(
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
)sql";

}  // namespace

std::vector<SchemaStep> schema_steps() {
  std::vector<SchemaStep> steps;
  steps.push_back({.sql = {schema_v1_steps(), schema_v1_blocks(), schema_v1_views()}});
  steps.push_back({.sql = {kKeyframes}});
  steps.push_back({.sql = {kChecksOfSessions}});
  steps.push_back({.sql = {kHistoryOfBlocks}});
  steps.push_back({.sql = {kBlockKeyframes}});
  steps.push_back({.sql = {kSpeech}});
  steps.push_back({.sql = {kTokenTerms}});
  HS_EXPECT(steps.size() == static_cast<std::size_t>(kSchemaVersion));
  return steps;
}

}  // namespace hybridscope
