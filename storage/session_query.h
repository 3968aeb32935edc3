// Read-only SQL queries by the user, and statistics of a session over time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

// NULL, INTEGER, REAL, TEXT; a BLOB is represented by its length.
struct BlobLength {
  std::int64_t bytes = 0;
};
// The beginning of a TEXT that is longer than QueryVisitor::max_text_bytes.
struct CutText {
  std::string text;
  std::int64_t bytes = 0;  // of the whole
};
using QueryValue =
    std::variant<std::monostate, std::int64_t, double, std::string, BlobLength, CutText>;

struct QueryVisitor {
  std::function<void(const std::vector<std::string>&)> columns;
  std::function<bool(const std::vector<QueryValue>&)> row;  // returns false to stop
  // Asked every few thousand operations of SQLite; returns true to end the query. Null: never.
  bool (*is_interrupted)() = nullptr;
  std::int64_t max_text_bytes = 0;  // of a TEXT, 0: all
};

// The largest value that a query may make; a session's plan, the largest one in a file, is smaller.
inline constexpr std::int32_t kMaxQueryValueBytes = 128 << 20;

// Runs one statement. Error invalid_input: SQLite's message, with the names of all tables and views
// where there is no table of that name; the statement would change the file; there is more than one
// statement; a value above kMaxQueryValueBytes. Error not_available: `is_interrupted` ended it.
Status run_query(const SessionFile& file, std::string_view sql, const QueryVisitor& visitor);

// Totals over consecutive steps.
struct StatsBucket {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  std::int64_t num_scheduled_tokens = 0;
  std::int64_t num_prompt_tokens = 0;  // of requests admitted for the first time
  std::int64_t num_hit_tokens = 0;
  std::int64_t num_output_tokens = 0;
  std::int64_t num_finished = 0;
  std::int64_t num_preempted = 0;
  std::int64_t num_evicted = 0;
  std::int64_t num_state_copies = 0;
  std::int64_t state_copy_bytes = 0;
  std::int64_t num_padding_tokens = 0;  // by captured graphs
  std::int64_t min_free_blocks = 0;
  std::int64_t max_waiting = 0;
  std::int64_t num_errors = 0;
  std::int64_t num_warnings = 0;
};

// At most `num_buckets` buckets with equally many recorded steps (the last may have fewer).
Result<std::vector<StatsBucket>> session_stats(const SessionFile& file, std::int64_t session,
                                               std::int64_t num_buckets);

}  // namespace hybridscope
