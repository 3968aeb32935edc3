// Reads the lines of a trace: the header, then the parts of a step line, one reader per member,
// with the live requests and limits that the readers share.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The requests of a trace by name: which are live, and what the step being read has said of each so
// far.
class LiveRequests {
 public:
  // The list of scheduler_output that has a request in one step.
  enum class Membership : std::uint8_t { none, scheduled_new_reqs, scheduled_cached_reqs };

  // What one step says about a request.
  struct InStep {
    Membership membership = Membership::none;
    std::int32_t row = -1;         // in num_scheduled_tokens
    bool needs_block_ids = false;  // admitted or resumed, but not yet in scheduler_block_ids
  };

  std::optional<RequestId> find(std::string_view name) const;
  // Requires: the name is not live.
  RequestId add(std::string_view name);
  // Frees the name; the request keeps its number and its entry in name_of.
  void finish(RequestId request);

  const std::string& name_of(RequestId request) const;
  std::int32_t count() const { return static_cast<std::int32_t>(names_.size()); }

  // Resets the InStep of all requests.
  void begin_step() { ++step_; }
  InStep& in_step(RequestId request);

  // A list may name a request only once: first_in_list() is false from the second time on.
  void begin_list() { ++list_; }
  bool first_in_list(RequestId request);

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  struct Entry {
    std::int64_t step = 0;  // the step that in_step belongs to
    std::int64_t list = 0;  // the last list that named it
    InStep in_step;
  };

  Entry& entry(RequestId request);

  std::unordered_map<std::string, RequestId, NameHash, std::equal_to<>> live_;
  std::vector<std::string> names_;  // [count], finished ones included
  std::vector<Entry> entries_;      // [count]
  std::int64_t step_ = 0;
  std::int64_t list_ = 0;
};

// The limits that a trace's header sets for its steps.
struct TraceLimits {
  std::int32_t num_blocks = 0;
  std::int32_t num_speculative_tokens = 0;
  std::int32_t max_num_seqs = 0;
  std::int32_t max_num_batched_tokens = 0;
  // The limit of token counts: max_model_len plus one sampled token and K drafts.
  std::int32_t max_tokens = 0;
  // The columns that max_model_len needs, plus 1 + K.
  std::vector<std::int32_t> max_columns{};  // [groups]
  std::int32_t max_mamba_columns = 0;       // the largest over the mamba groups
  std::vector<bool> is_mamba{};             // [groups]

  std::int32_t num_groups() const { return static_cast<std::int32_t>(max_columns.size()); }
};

TraceLimits make_trace_limits(const EngineConfig& config);

struct StepContext {
  const EngineConfig& config;
  const TraceLimits& limits;
  LiveRequests& requests;
  ForeignStep& step;
  const std::set<std::string, std::less<>>& metadata_fields;
};
// Dotted names of the fields of all metadata classes ("nums_dict.8.tot").
std::set<std::string, std::less<>> metadata_field_names();

// The live request with this name. Error: it was never introduced or has finished.
RequestId live_request(const JsonValue& value, StepContext& context);
RequestId live_request(const JsonValue& place, std::string_view name, StepContext& context);
// The live request with this name. Error: there is none, or this step does not schedule it.
RequestId scheduled_request(const JsonValue& place, std::string_view name, StepContext& context);
// Error: the current list already named the request.
void expect_first_in_list(const JsonValue& place, RequestId request, StepContext& context);

// The mamba group whose number is the member's name. Error: it is not one.
std::int32_t mamba_group(const JsonValue& member, std::string_view name,
                         const StepContext& context);

// Appends one list of block ids per group.
BlockLists read_block_lists(const JsonValue& value, StepContext& context);
// One count per group, each as a list of one.
BlockLists read_cached_block_counts(const JsonValue& value, StepContext& context);
// Appends one list of block ids per group, or returns the absent lists for null.
BlockLists read_optional_block_lists(const JsonValue& value, StepContext& context);
// Appends token ids.
IdRange read_token_ids(const JsonValue& value, std::int32_t min, StepContext& context);
// The token count of one request.
std::int32_t read_token_count(const JsonValue& value, StepContext& context);

// For the member `key` of `object`, a list parallel to the list `like` with `count` elements: calls
// visit(i, element) for each element. An absent member is skipped. Error: another length.
template <class Visit>
void for_each_parallel(const JsonValue& object, std::string_view key, std::size_t count,
                       Visit visit, std::string_view like = "req_ids");

// Reads a member of a step line.
using ReadMember = void(const JsonValue& value, StepContext& context);

ReadMember read_scheduler_output;
// Requires: new and cached requests have been read.
ReadMember read_num_scheduled_tokens;
// Requires, for all functions below: num_scheduled_tokens has been read.
ReadMember read_drafts, read_drafts_offered;
// What is told of any live requests, scheduled in the step or not.
ReadMember read_drafts_proposed, read_preempted_by_command;
ReadMember read_scheduler_block_ids, read_num_cached_block, read_num_tokens_after_output;
// SchedulerOutput.kv_cache_block_copies; null: none.
ReadMember read_block_copies;
ReadMember read_prefill_checkpoints, read_input_batch, read_states, read_attn_metadata;
ReadMember read_model_runner_output;
ForeignHashes read_block_hashes(const JsonValue& value, StepContext& context);
std::vector<ForeignCopy> read_copies(const JsonValue& value, StepContext& context);
ForeignGraph read_cudagraph(const JsonValue& value);

template <class Visit>
void for_each_parallel(const JsonValue& object, std::string_view key, std::size_t count,
                       Visit visit, std::string_view like) {
  const std::optional<JsonValue> list = object.find(key);
  if (!list) return;
  std::size_t found = 0;
  list->each_element([&](const JsonValue& element) {
    if (found < count) visit(found, element);
    ++found;
  });
  if (found != count) list->fail(fmt::format("length {}, expected {} (as {})", found, count, like));
}

// Reads the first line of a trace into an EngineConfig.

inline constexpr std::int64_t kTraceVersion = 1;

// The member that marks a line as a header.
inline constexpr std::string_view kVersionKey = "hybridscope_trace";

// `line`: a parsed header line. A JsonFault says what is missing, of the wrong type or unsupported.
ForeignHeader read_header(const JsonValue& line);

}  // namespace hybridscope
