// A state copy decision as its formula, with the numbers filled in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/state/copy_decision.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {

// How many tokens each request's own last row accepted: what the count of its next row should be
// (docs/semantics: accepted counts; vLLM v1/worker/gpu_input_batch.py num_accepted_tokens_cpu).

struct OwnCount {
  std::int64_t step = 0;                 // of the request's last row
  std::int32_t num_accepted_tokens = 1;  // bonus token included
  // What that row ran: as this class, tokens [c, c + q).
  RowClass row_class = RowClass::prefill;
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_query_tokens = 0;  // 0: not known
  // The row's post-copy, if the rule makes one and none was made (is_missing_copy).
  std::optional<StateCopyDecision> missing_copy = {};
  friend bool operator==(const OwnCount&, const OwnCount&) = default;
};

// The count that a row leaves for the request's next one: what it accepted, or 1 where the
// post-copy moved the state (StateCopyDecision::resets_accepted_count). Needs the decisions
// of the step that do so (SessionHeader::knows_own_counts).
std::int32_t count_left(const StepTrace& trace, std::size_t row);
// The count that count_left() gives, with what the row ran.
OwnCount own_count_left(const StepTrace& trace, std::size_t row);

// Finds the count of a request before a step; empty: it has had no row, or that is not known.
using FindOwnCount = std::function<std::optional<OwnCount>(RequestId)>;

class OwnCounts {
 public:
  // Steps come in order.
  void take(const StepTrace& trace);
  // `step`: the last step that was taken, or the one after it.
  std::optional<OwnCount> before(std::int64_t step, RequestId request) const;

 private:
  struct LastTwo {
    OwnCount last = {};  // step 0: there is none
    OwnCount one_before = {};
  };
  std::vector<LastTwo> rows_;  // by request id
};

// Does the row's request begin or go on after a preemption in this step?
bool is_admitted(const StepTrace& trace, const RowTrace& row);

// The count of a row as the step begins: whose it is, and what the request's own is.
enum class CountOrigin : std::uint8_t {
  own,      // what its last row accepted
  fresh,    // 1, because the request was admitted in this step or has had no row
  lost,     // of the request, but not what its last row accepted
  foreign,  // of another request
  unknown,  // the request's last row is not known
};
CountOrigin count_origin(const StepTrace& trace, const RowTrace& row,
                         const std::optional<OwnCount>& own);

// "own, of step 3", "fresh", "1, own 3 of step 3", "1 of B, own 3 of step 3"; `own` empty: "not
// known" or "1 of B".
std::string count_origin_words(const StepTrace& trace, const RowTrace& row,
                               const std::optional<OwnCount>& own, const Names& names);

// Is the count not the request's own? Another request's count is, where both are equal; where the
// own one is not known, another request's is taken for wrong.
bool is_wrong_count(const StepTrace& trace, const RowTrace& row,
                    const std::optional<OwnCount>& own);

// Why a row runs with a wrong count: "C's accepted count became 1 when it was skipped in step 4;
// its own is 3, of step 3". Empty: the count is its own, or that is not known.
std::string wrong_count_words(const StepTrace& trace, const RowTrace& row,
                              const std::optional<OwnCount>& own, const Names& names);

// One line without newline, such as "running = c + q - d = 6 + 2 - 1 = 7; new = running + a - 1 = 7
// + 2 - 1 = 8; aligned = floor(8 / 8) * 8 = 8 >= running: bias = 8 - 7 = 1, ...". When nothing is
// copied it says why. `kept`: the kinds of state that the layers keep and the copy moves.
// `remembered`: what is said of a column that the request brought along (remembered_words).
std::string explain_decision(const StateCopyDecision& decision, const StatesKept& kept = {},
                             std::string_view remembered = "remembered");

// What a formula gives, and what was decided if that is something else, as another engine's trace
// or a policy can have it: "8", "8 by the rule, but 7 was decided".
std::string value_words(std::int32_t by_rule, std::int32_t decided);

// Does a trace, or a policy, lack a copy that the rule makes? Its pre-copy does not stay in its
// column, its post-copy reached a boundary, and yet the outcome is to copy nothing.
bool is_missing_copy(const StateCopyDecision& decision);

// "remembered from step 2", the step of the request's last row, ", before it was preempted" if it
// is resumed in this step; "remembered" if that row is not known.
std::string remembered_words(const StepTrace& trace, RequestId request,
                             const std::optional<OwnCount>& own);

// Mode all with drafts: why there is no post-copy decision about a verify row's boundary states.
// The text is empty if there is one, or the row is not a verify row. Requires: `row` is in the
// batch.
std::string explain_no_decision(const StepTrace& trace, const EngineConfig& config,
                                std::int32_t row);

// Where the rule comes from: vLLM's file and function, or our page about the difference.
std::string_view decision_source(StateCopyRule rule);

// "copy", "within_block_shift", ...: stable names, used in files.
std::string_view outcome_name(StateCopyOutcome outcome);

}  // namespace hybridscope
