// What the readers of a step's members share. Each reads one member of the line into `step`.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "sessions/judge/foreign_trace.h"
#include "sessions/judge/live_requests.h"
#include "sessions/judge/trace_limits.h"
#include "sessions/text/line_value.h"

namespace hybridscope {

struct StepContext {
  const EngineConfig& config;
  const TraceLimits& limits;
  LiveRequests& requests;
  ForeignStep& step;
  JsonErrors& errors;
  const std::set<std::string, std::less<>>& metadata_fields;
};
// Dotted names of all fields that some metadata class has ("nums_dict.8.tot").
std::set<std::string, std::less<>> metadata_field_names();

// The live request that a string names. Error: it was never introduced, or is finished.
std::optional<RequestId> live_request(const LineValue& value, StepContext& context);
std::optional<RequestId> live_request(const LineValue& place, std::string_view name,
                                      StepContext& context);
// The request if this step schedules it. Error: it does not.
std::optional<RequestId> scheduled_request(const LineValue& place, std::string_view name,
                                           StepContext& context);
// Error: the list that was begun named the request before.
void expect_first_in_list(const LineValue& place, RequestId request, StepContext& context);

// Appends one list of block ids a group.
BlockLists read_block_lists(const LineValue& value, StepContext& context);
// The same, or absent for null.
BlockLists read_optional_block_lists(const LineValue& value, StepContext& context);
// Appends token ids.
IdRange read_token_ids(const LineValue& value, std::int32_t min, StepContext& context);
// A count of tokens of one request.
std::int32_t read_token_count(const LineValue& value, StepContext& context);

// For the member `key` of `object`, a list parallel to one of `count` requests: calls
// visit(i, element) for each. Absent: nothing. Error: another length.
template <class Visit>
void for_each_parallel(const LineValue& object, std::string_view key, std::size_t count,
                       StepContext& context, Visit visit);
void fail_length(const LineValue& list, std::size_t found, std::size_t expected,
                 StepContext& context);

void read_scheduler_output(const LineValue& value, StepContext& context);
// Requires: the admitted and the cached requests are read.
void read_num_scheduled_tokens(const LineValue& value, StepContext& context);
// Requires: num_scheduled_tokens are read; so do all below.
void read_drafts(const LineValue& value, StepContext& context);
void read_scheduler_block_ids(const LineValue& value, StepContext& context);
void read_num_cached_block(const LineValue& value, StepContext& context);
void read_input_batch(const LineValue& value, StepContext& context);
std::vector<ForeignCopy> read_copies(const LineValue& value, StepContext& context);
ForeignGraph read_cudagraph(const LineValue& value, StepContext& context);
void read_attn_metadata(const LineValue& value, StepContext& context);
void read_model_runner_output(const LineValue& value, StepContext& context);

template <class Visit>
void for_each_parallel(const LineValue& object, std::string_view key, std::size_t count,
                       StepContext& context, Visit visit) {
  const std::optional<LineValue> list = find_member(object, key);
  if (!list) return;
  std::size_t found = 0;
  for_each_element(*list, context.errors, [&](const LineValue& element) {
    if (found < count) visit(found, element);
    ++found;
  });
  if (!context.errors.failed() && found != count) fail_length(*list, found, count, context);
}

}  // namespace hybridscope
