// Everything about one step in words, so that a reader can verify each decision by hand
// (`hybridscope run SCENARIO --explain STEP`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/text/text_page.h"

namespace hybridscope {

// "9,000 us"; above 10,000 in milliseconds: "20.18 ms".
std::string time_words(std::int64_t us);

struct StepToExplain {
  const StepTrace& trace;
  const EngineConfig& config;  // valid during the step
  const Names& names;
  // After the step's cache_events and before its commit_events.
  const BlockTableMirror& scheduler_tables;
  std::span<const Finding> findings;  // of the step
  FindOwnCount own_count = {};        // before the step; empty: not known
  // [findings] where each stands in its chain ("follows from step 4: ..."), "" where nothing is to
  // say; empty: not known.
  std::vector<std::string> chain_words = {};
  std::size_t columns = kPageColumns;  // of a line
  std::size_t name_width = 0;          // of the column of requests' names; 0: measured once
  bool tells_tokens = true;            // which requests are scheduled, and how q of each came about
};

// Sections in the order of the step's phases; lines of at most `columns` columns; newline at the
// end.
std::string explain_step(const StepToExplain& step);

// The subject of a section.
enum class StepTopic : std::uint8_t {
  commands,
  schedule,  // includes prefix cache lookups
  blocks,
  tables,
  rows,
  graph,
  pre_copies,
  metadata,
  attention,
  forward,
  sample,
  post_copies,
  commit,
  findings,
};

// Only the sections about these topics, under the same title.
std::string explain_topics(const StepToExplain& step, std::span<const StepTopic> topics);

}  // namespace hybridscope
