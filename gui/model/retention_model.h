// Which states of the selected request's prompt the retention interval keeps in the prefix cache,
// and why the others are dropped (semantics: retention).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/shown_run.h"

namespace hybridscope {

// The state at the end of a block.
struct PromptBoundary {
  std::int32_t num_tokens = 0;  // before the state
  bool kept = true;
  std::string why;  // "the end of the prompt", "no multiple of 32, and none of the others kept"
  friend bool operator==(const PromptBoundary&, const PromptBoundary&) = default;
};

struct RetentionModel {
  std::string name;  // of the request
  std::string group_name;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t block_size = 0;
  std::string words;                       // "Retention interval 0 keeps only ..."
  std::vector<PromptBoundary> boundaries;  // ends of blocks within the prompt
  std::string dropped;                     // "Dropped: 8, 16: ..." in a sentence; empty: none is
};

// Boundaries inside blocks have rules of their own.
inline constexpr std::string_view kRetentionHelp =
    "The states at the ends of blocks. The end of a prompt inside a block, and a checkpoint that a "
    "prefill stored on its way, are registered by rules of their own.";

// What the retention rule keeps of the selected request. Empty: no request is selected, it was not
// admitted yet or that is not known, prefix caching is off, or the model has no recurrent state.
// Requires: run.step() > 0.
std::optional<RetentionModel> make_retention_model(ShownRun& run, RequestId selected);

}  // namespace hybridscope
