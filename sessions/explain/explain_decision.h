// A state copy decision as its formula, with the numbers filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/engine/engine_config.h"
#include "core/state/copy_decision.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/own_counts.h"
#include "sessions/explain/state_kinds.h"

namespace hybridscope {

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
