#include "sessions/conformance/answer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/base/math.h"
#include "core/caching/manager_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

nlohmann::json error_json(const Error& error) { return {{"error", error.message}}; }

nlohmann::json list_json(const TensorView<std::int32_t>& view) {
  return std::vector<std::int32_t>(view.data, view.data + view.size());
}

nlohmann::json rows_json(const TensorView<std::int32_t>& view) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::int32_t row = 0; row < view.rows; ++row) {
    const std::int32_t* begin = view.data + static_cast<std::int64_t>(row) * view.cols;
    rows.push_back(std::vector<std::int32_t>(begin, begin + view.cols));
  }
  return rows;
}

nlohmann::json answer_until_error(const JsonValue& array,
                                  const std::function<nlohmann::json(const JsonValue&)>& answer) {
  nlohmann::json answers = nlohmann::json::array();
  for (const JsonValue& element : array.elements()) {
    answers.push_back(answer(element));
    if (answers.back().contains("error")) break;
  }
  return answers;
}

namespace {

using nlohmann::json;

// A set of the reference as an ascending list.
json sorted(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end());
}

json as_new(const ReplayedRequest& request) {
  return {{"id", request.name},
          {"block_ids", request.block_ids},
          {"num_computed_tokens", request.num_computed_tokens}};
}

struct RequestLists {
  json new_reqs = json::array();
  json resumed_as_new = json::array();
  json cached = {{"req_ids", json::array()},
                 {"resumed_req_ids", json::array()},
                 {"new_block_ids", json::array()},
                 {"num_computed_tokens", json::array()},
                 {"num_output_tokens", json::array()}};
  std::vector<std::string> resumed;

  void add_cached(const ReplayedRequest& request, const GroupBlockIds& new_block_ids) {
    const bool any =
        std::ranges::any_of(new_block_ids, [](const auto& group) { return !group.empty(); });
    cached["req_ids"].push_back(request.name);
    cached["new_block_ids"].push_back(any ? json(new_block_ids) : json());
    cached["num_computed_tokens"].push_back(request.num_computed_tokens);
    cached["num_output_tokens"].push_back(request.num_output_tokens);
  }

  void add(const ReplayedRequest& request, ResumedRequests resumed_requests) {
    if (request.admission == Admission::running) {
      add_cached(request, request.new_block_ids());
    } else if (request.admission == Admission::new_request) {
      new_reqs.push_back(as_new(request));
    } else if (resumed_requests == ResumedRequests::as_new) {
      resumed_as_new.push_back(as_new(request));
    } else {
      resumed.push_back(request.name);
      add_cached(request, request.block_ids);
    }
  }
};

void add_requests(const ReplayedSchedule& schedule, ResumedRequests resumed_requests,
                  json& answer) {
  RequestLists lists;
  answer["num_scheduled_tokens"] = json::object();
  answer["scheduled_spec_decode_tokens"] = json::object();
  for (const ReplayedRequest& request : schedule.scheduled) {
    answer["num_scheduled_tokens"][request.name] = request.num_scheduled_tokens;
    if (!request.draft_token_ids.empty())
      answer["scheduled_spec_decode_tokens"][request.name] = request.draft_token_ids;
    lists.add(request, resumed_requests);
  }
  lists.cached["resumed_req_ids"] = sorted(lists.resumed);
  for (const json& request : lists.resumed_as_new) lists.new_reqs.push_back(request);
  answer["scheduled_new_reqs"] = lists.new_reqs;
  answer["scheduled_cached_reqs"] = lists.cached;
}

// Only models with recurrent layers report them: their KV pages share memory with states.
json blocks_to_zero(const ReplayedSchedule& schedule, const EngineConfig& config) {
  const bool has_mamba = std::ranges::any_of(
      config.kv_cache_config.groups, [](const KVCacheGroup& group) { return group.is_mamba(); });
  return has_mamba && !schedule.new_attention_block_ids.empty()
             ? json(schedule.new_attention_block_ids)
             : json();
}

}  // namespace

json schedule_json(const ReplayedSchedule& schedule, const SchedulerReplay& replay,
                   ResumedRequests resumed_requests) {
  json answer = {{"total_num_scheduled_tokens", schedule.total_num_scheduled_tokens},
                 {"num_common_prefix_blocks", schedule.num_common_prefix_blocks},
                 {"preempted_req_ids", sorted(schedule.preempted)},
                 {"finished_req_ids", sorted(schedule.finished)},
                 {"new_block_ids_to_zero", blocks_to_zero(schedule, replay.config())},
                 {"running", replay.running()},
                 {"waiting", replay.waiting()},
                 {"block_ids", json::object()},
                 {"free_queue", replay.kv_cache().pool().free_queue()}};
  add_requests(schedule, resumed_requests, answer);
  for (const std::string& name : replay.live()) answer["block_ids"][name] = replay.block_ids(name);
  return answer;
}

json update_json(const SchedulerReplay& replay) {
  json requests = json::object();
  for (const std::string& name : replay.live()) {
    const Request& request = *replay.find(name);
    requests[name] = {{"num_computed_tokens", request.num_computed_tokens},
                      {"num_tokens", request.num_tokens}};
  }
  return {{"requests", requests},
          {"running", replay.running()},
          {"waiting", replay.waiting()},
          {"num_free", replay.kv_cache().num_free_blocks()}};
}

json draft_counts_json(const SchedulerReplay& replay) {
  json counts = json::object();
  for (const std::string& name : replay.live()) counts[name] = replay.find(name)->num_draft_tokens;
  return {{"spec_token_ids", counts}};
}

namespace {

json element_json(const NamedArray& array, std::int64_t value) {
  if (array.dtype == ArrayDtype::boolean) return value != 0;
  if (value == kNeverWritten) return nullptr;
  return value;
}

json elements_json(const NamedArray& array, std::size_t first, std::size_t count) {
  json list = json::array();
  for (std::size_t i = first; i < first + count; ++i)
    list.push_back(element_json(array, array.values[i]));
  return list;
}

json nested_json(const NamedArray& array) {
  if (array.dims.size() == 1) return elements_json(array, 0, array.values.size());
  json rows = json::array();
  const auto cols = static_cast<std::size_t>(array.dims[1]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(array.dims[0]); ++row)
    rows.push_back(elements_json(array, row * cols, cols));
  return rows;
}

json value_json(const NamedArray& array) {
  if (!array.present) return nullptr;
  if (array.dtype == ArrayDtype::host_bool) return array.values[0] != 0;
  if (array.dtype == ArrayDtype::host_int) return array.values[0];
  if (array.name.starts_with("nums_dict")) return nested_json(array);
  if (array.fill != 0)
    return {{"length", array.dims[0]}, {"prefix", array.values}, {"fill", array.fill}};
  return {{"shape", array.dims}, {"data", nested_json(array)}};
}

void check_persistent_size(const JsonValue& place, const MambaBuilderConfig& config,
                           BuilderFamily family) {
  const std::int64_t window = std::int64_t{config.num_spec} + 1;
  const std::int64_t rows_asked = config.max_num_seqs * (family == BuilderFamily::gdn ? window : 1);
  const std::int64_t rows =
      std::min<std::int64_t>(rows_asked, config.max_cudagraph_capture_size.value_or(kMaxTokens));
  std::int64_t columns = window;
  if (family == BuilderFamily::mamba && config.mamba_cache_mode == MambaCacheMode::all)
    columns = cdiv(config.max_model_len, config.block_size);
  if (rows_asked <= kMaxTokens && rows * columns <= kMaxPersistentElements) return;
  place.fail("persistent arrays for " + std::to_string(rows_asked) + " rows of " +
             std::to_string(columns) + " columns (expected at most " +
             std::to_string(kMaxPersistentElements) + " elements)");
}

MambaBuilderConfig read_shared_config(const JsonValue& config) {
  MambaBuilderConfig result;
  result.mamba_cache_mode = read_mamba_cache_mode(config["mamba_cache_mode"]);
  result.block_size = read_size(config["block_size"], 1);
  result.num_spec = read_size(config["num_spec"], 0);
  result.num_speculative_blocks = result.num_spec;
  result.max_num_seqs = read_size(config["max_num_seqs"], 0);
  result.max_model_len = read_size(config["max_model_len"], 0);
  if (const auto size = config.find_non_null("max_cudagraph_capture_size"))
    result.max_cudagraph_capture_size = read_size(*size, 0);
  result.full_cudagraph = config["full_cudagraph"].boolean();
  if (const auto size = config.find_non_null("chunk_size")) result.chunk_size = read_tokens(*size);
  return result;
}

// Throws when the answer would have too many tokens.
void check_tokens(const JsonValue& place, const VectorBatch& batch) {
  if (batch.num_actual_tokens < 0) place["num_actual_tokens"].int32({0, kMaxTokens});
  std::int64_t tokens = batch.num_actual_tokens;
  for (std::size_t i = 0; i + 1 < batch.query_start_loc.size(); ++i)
    tokens += std::max(batch.query_start_loc[i + 1] - batch.query_start_loc[i], 0);
  if (tokens > kMaxVectorElements)
    place.fail(std::to_string(tokens) + " tokens (expected at most " +
               std::to_string(kMaxVectorElements) + ")");
}

// The member that a name with dots stands for.
json& place_of(std::string_view name, json& object) {
  json* place = &object;
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    place = &(*place)[std::string(name.substr(0, dot))];
    name.remove_prefix(dot + 1);
  }
  return (*place)[std::string(name)];
}

// Nested lists of numbers.
json numbers_json(NamedArray array) {
  if (array.dtype == ArrayDtype::host_bool || array.dtype == ArrayDtype::host_int)
    return array.values[0];
  array.dtype = ArrayDtype::int32;
  return nested_json(array);
}

}  // namespace

MambaBuilderConfig read_builder_config(const JsonValue& config, BuilderFamily family) {
  MambaBuilderConfig result = read_shared_config(config);
  result.parallel_drafting = config["parallel_drafting"].boolean();
  result.decode_context_parallel_size = read_size(config["decode_context_parallel_size"], 1);
  check_persistent_size(config, result, family);
  return result;
}

MambaBuilderConfig read_release_builder_config(const JsonValue& config, const PolicySet& policies) {
  MambaBuilderConfig result = read_shared_config(config);
  const PrefillCheckpoint checkpoint = policies.get<PrefillCheckpoint>();
  if (config["num_prefill_checkpoint_blocks"].int32({0, 1}) > 0)
    result.checkpoint.alignment = read_size(config["prefill_checkpoint_alignment"], 1);
  result.checkpoint.hash_block_size = read_size(config["hash_block_size"], 1);
  result.checkpoint.hit_alignment = read_size(config["cache_hit_alignment_tokens"], 1);
  result.checkpoint.replay = {
      .eagle_block_drop = config["eagle_drop"].boolean(),
      .num_hash_lookahead_tokens = read_size(config["num_hash_lookahead_tokens"], 0),
      .leaves_a_token_with_drop = checkpoint != PrefillCheckpoint::as_states_retained};
  const bool gdn = config["class"].string() == "gdn";
  check_persistent_size(config, result, gdn ? BuilderFamily::gdn : BuilderFamily::mamba);
  return result;
}

TensorView<std::int32_t> OptionalCounts::view() const {
  if (!counts) return {};
  return vector_view(counts->data(), static_cast<std::int32_t>(counts->size()));
}

OptionalCounts read_optional_counts(const JsonValue& call, std::string_view name) {
  const auto counts = call.find_non_null(name);
  if (!counts) return {};
  return {.counts = read_token_counts(*counts)};
}

Result<GdnMetadata> build_gdn(GdnMetadataBuilder& builder, const PolicySet& policies,
                              BuilderCall& call) {
  const CommonAttentionMetadata common = call.batch.view();
  const auto classes = classify_gdn_rows_by_drafts(
      common,
      {.num_spec = builder.config().num_spec,
       .num_decode_draft_tokens = call.num_decode_draft_tokens.view(),
       .zero_drafts =
           policies.is(NoDraftStep::zero_drafts) ? ZeroDrafts::spec_rows : ZeroDrafts::no_spec_rows,
       .batch = policies.get<GdnBatch>()},
      call.flags);
  if (!classes) return classes.error();
  return builder.build({.common = common,
                        .num_accepted_tokens = call.num_accepted_tokens.view(),
                        .row_classes = classes.value(),
                        .policies = policies});
}

VectorBatch read_builder_batch(const JsonValue& call) {
  const JsonValue common = call["common"];
  VectorBatch batch = read_batch_with_blocks(common);
  check_tokens(common, batch);
  return batch;
}

VectorBatch read_release_builder_batch(const JsonValue& call) {
  const JsonValue place = call["batch"];
  VectorBatch batch{.query_start_loc = read_token_counts(place["query_start_loc"]),
                    .seq_lens = read_token_counts(place["seq_lens"]),
                    .num_actual_tokens = read_tokens(place["num_actual_tokens"]),
                    .max_query_len = read_tokens(place["max_query_len"]),
                    .block_table = read_table(place["block_table"])};
  if (batch.query_start_loc.empty()) place["query_start_loc"].fail("expected an element");
  batch.num_reqs = static_cast<std::int32_t>(batch.query_start_loc.size()) - 1;
  for (const JsonValue& row : place["is_prefilling"].elements())
    batch.is_prefilling.push_back(static_cast<std::uint8_t>(row.int32({0, 1})));
  check_tokens(place, batch);
  return batch;
}

json metadata_json(const std::vector<NamedArray>& arrays) {
  json result = json::object();
  for (const NamedArray& array : arrays) place_of(array.name, result) = value_json(array);
  return {{"metadata", std::move(result)}};
}

json release_metadata_json(const std::vector<NamedArray>& arrays) {
  json result = json::object();
  for (const NamedArray& array : arrays)
    if (array.present && array.fill == 0 && !array.name.starts_with("nums_dict"))
      place_of(array.name, result) = numbers_json(array);
  return {{"metadata", std::move(result)}};
}

}  // namespace hybridscope
