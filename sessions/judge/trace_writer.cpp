#include "sessions/judge/trace_writer.h"

#include <algorithm>
#include <utility>

#include "core/engine/scheduler_setup.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/metadata_builders.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json group_json(const KVCacheGroup& group) {
  Json json = {{"type", group.is_mamba() ? "mamba" : "full_attention"},
               {"block_size", group.block_size()}};
  if (const auto* mamba = std::get_if<MambaSpec>(&group.spec)) {
    json["mamba_type"] = kMambaTypeWords[static_cast<std::size_t>(mamba->mamba_type)];
    json["num_speculative_blocks"] = mamba->num_speculative_blocks;
    if (mamba->num_prefill_checkpoint_blocks > 0) {
      json["num_prefill_checkpoint_blocks"] = mamba->num_prefill_checkpoint_blocks;
      json["prefill_checkpoint_alignment"] = mamba->prefill_checkpoint_alignment;
    }
  }
  if (group.is_eagle_group) json["is_eagle_group"] = true;
  return json;
}

// What a trace header says of an engine's configuration that no setting does, by its place among
// the settings (SettingUse::trace_place).
std::map<int, std::pair<std::string_view, Json>> derived_facts(const EngineConfig& config) {
  Json groups = Json::array();
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    groups.push_back(group_json(group));
  return {{2, {"num_gpu_blocks", config.kv_cache_config.num_blocks}},
          {4, {"hash_block_size", config.hash_block_size}},
          {5, {"scheduler_block_size", config.scheduler_block_size}},
          {9, {"conv_kernel", config.conv_kernel}},
          {10, {"chunk_size", config.chunk_size}},
          {22, {"kv_cache_groups", groups}}};
}

Json policies_json(const PolicyOverrides& policies) {
  EngineSettings settings;
  settings.policies = policies;
  Json json = Json::object();
  for (const Setting& setting : settings_table())
    if (setting.section == kPoliciesKey)
      if (const auto value = get_setting(settings, setting))
        json[std::string(setting.name)] = setting_to_json(setting, *value);
  return json;
}

Json graph_json(const StepTrace& trace) {
  return {{"cudagraph_runtime_mode",
           kCudagraphModeWords[static_cast<std::size_t>(trace.graph.runtime_mode)]},
          {"num_tokens", trace.graph.num_tokens_padded},
          {"num_reqs", trace.graph.num_reqs_padded},
          {"uniform", trace.uniform_decode}};
}

// A nested list cannot show the number of columns of an empty array.
Json array_json(const NamedArray& array) {
  if (array.dims.empty())
    return array.dtype == ArrayDtype::host_bool ? Json(array.values[0] != 0)
                                                : Json(array.values[0]);
  std::vector<std::int64_t> values = array.values;
  std::int64_t size = 1;
  for (const std::int64_t dim : array.dims) size *= dim;
  values.resize(static_cast<std::size_t>(size), array.fill);
  if (array.dims.size() == 1) return values;
  Json rows = Json::array();
  for (std::int64_t row = 0; row < array.dims[0]; ++row)
    rows.push_back(std::vector<std::int64_t>(values.begin() + row * array.dims[1],
                                             values.begin() + (row + 1) * array.dims[1]));
  return {{"shape", array.dims}, {"data", rows}};
}

// Fields of the conv kernels' programs, by block size; the others follow from the pointer arrays.
constexpr std::string_view kPrograms = "nums_dict.8.";

Json metadata_json(const StepTrace& trace) {
  Json groups = Json::object();
  for (const GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    Json& fields = groups[std::to_string(group.group)] = Json::object();
    for (const NamedArray& array : named_arrays(*group.metadata))
      if (!array.name.starts_with(kPrograms))
        fields[std::string(array.name)] = array.present ? array_json(array) : Json();
      else if (array.name == "nums_dict.8.nums" || array.name == "nums_dict.8.tot")
        fields["nums_dict"]["8"][std::string(array.name.substr(kPrograms.size()))] =
            array_json(array);
  }
  return groups;
}

bool was_reset(const StepTrace& trace) {
  return std::ranges::any_of(trace.commands, [](const CommandTrace& command) {
    return command.command == CommandKind::reset_prefix_cache &&
           command.outcome == CommandOutcome::done;
  });
}

}  // namespace

TracedRequests traced_requests_of(const Engine& engine) {
  return {.name = [&engine](RequestId id) { return engine.name_of(id); },
          .token = [&engine](RequestId id, std::int32_t at) { return engine.token(id, at); },
          .max_tokens = [&engine](RequestId id) { return engine.max_tokens(id); },
          .priority = [&engine](RequestId id) { return engine.priority(id); },
          .cache_salt = [&engine](RequestId id) { return engine.cache_salt(id); }};
}

TraceWriter::TraceWriter(const EngineConfig& config, TracedRequests requests)
    : config_(config),
      requests_(std::move(requests)),
      tables_(static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
              config.kv_cache_config.num_blocks) {}

std::string TraceWriter::header(const std::string& name, const PolicyOverrides& policies) const {
  std::map<int, std::pair<std::string_view, Json>> config = derived_facts(config_);
  EngineSettings settings = settings_of(config_);
  // The list that was captured, so that a graph of another size is found.
  if (auto graphs = resolve_cudagraphs(config_); graphs.ok())
    settings.cudagraph_capture_sizes = std::move(graphs).value().capture_sizes;
  for (const Setting* setting : traced_settings()) {
    const Json value = setting_to_json(*setting, *get_setting(settings, *setting));
    if (value.is_array() && value.empty()) continue;
    config[setting->use.trace_place] = {trace_key(*setting), value};
  }
  Json in_order;
  for (const auto& [place, member] : config) in_order[std::string(member.first)] = member.second;
  if (hits_end_inside_blocks(config_)) in_order["hits_inside_blocks"] = true;
  if (config_.prefix_cache_retention_interval)
    in_order["prefix_cache_retention_interval"] = *config_.prefix_cache_retention_interval;
  if (const Json overrides = policies_json(policies); !overrides.empty())
    in_order[std::string(kPoliciesKey)] = overrides;
  return Json({{"hybridscope_trace", 1},
               {"engine", "hybridscope"},
               {"name", name},
               {"config", in_order}})
      .dump();
}

std::string TraceWriter::step(const StepTrace& trace) {
  for (const CacheEvent& event : trace.cache_events) tables_.apply(event);
  Json line = {{"step", trace.step}, {"scheduler_output", scheduler_output(trace)}};
  line["scheduler_block_ids"] = changed_block_ids(trace);
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.num_drafts_offered != scheduled.num_draft_tokens)
      line["num_drafts_offered"][requests_.name(scheduled.request)] = scheduled.num_drafts_offered;
  line["input_batch"] = input_batch(trace);
  add_commands(trace, line);
  add_cache(trace, line);
  if (!trace.rows.empty()) {
    line["preprocess_copies"] = copies(trace.pre_copies);
    line["cudagraph"] = graph_json(trace);
    line["attn_metadata"] = metadata_json(trace);
    line["postprocess_copies"] = copies(trace.post_copies);
  }
  // The engine's simulated clock.
  if (!trace.rows.empty() && trace.duration_us > 0) line["step_time_us"] = trace.duration_us;
  line["model_runner_output"] = sampled(trace);
  for (const CacheEvent& event : trace.commit_events) tables_.apply(event);
  hashes_.apply(trace.commit_events);
  const Json returned = block_hashes_json(hashes_.take(/*all_lost=*/false), requests_.name);
  if (!returned.empty()) line["block_hashes_after_output"] = returned;
  finished_.clear();
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) finished_.push_back(commit.request);
  return line.dump();
}

// What somebody told the scheduler before the step, but for aborts: they are in finished_req_ids,
// and nothing else is told of their requests.
void TraceWriter::add_commands(const StepTrace& trace, Json& line) const {
  if (was_reset(trace)) line["reset_prefix_cache"] = true;
  if (trace.budget_overridden) line["token_budget"] = trace.token_budget;
  const auto was_aborted = [&](RequestId request) {
    return std::ranges::any_of(trace.commands, [&](const CommandTrace& command) {
      return command.command == CommandKind::abort && command.request == request;
    });
  };
  for (const CommandTrace& command : trace.commands) {
    if (command.outcome != CommandOutcome::done || was_aborted(command.request)) continue;
    if (command.command == CommandKind::preempt)
      line["preempted_by_command"].push_back(requests_.name(command.request));
    if (command.command == CommandKind::set_draft_tokens)
      line["num_drafts_proposed"][requests_.name(command.request)] = command.value;
  }
}

void TraceWriter::add_cache(const StepTrace& trace, Json& line) {
  const Json copies = block_copies_json(trace, requests_.name);
  if (!copies.empty()) line["scheduler_output"]["kv_cache_block_copies"] = copies;
  const Json checkpoints =
      prefill_checkpoints_json(trace, config_.mamba_cache_mode, tables_, requests_.name);
  if (!checkpoints.empty()) line["prefill_checkpoints"] = checkpoints;
  if (!config_.enable_prefix_caching) return;
  hashes_.apply(trace.cache_events);
  line["block_hashes"] = block_hashes_json(hashes_.take(was_reset(trace)), requests_.name);
}

TraceWriter::Json TraceWriter::scheduler_output(const StepTrace& trace) {
  std::vector<RequestId> left = finished_;
  for (const CommandTrace& command : trace.commands)
    if (command.command == CommandKind::abort && command.outcome == CommandOutcome::done)
      left.push_back(command.request);
  Json finished = Json::array();
  for (const RequestId id : left) finished.push_back(requests_.name(id));
  // A request that was preempted and then aborted is left out.
  Json preempted = Json::array();
  for (const RequestId id : trace.preempted)
    if (std::ranges::find(left, id) == left.end()) preempted.push_back(requests_.name(id));
  Json output = {{"scheduled_new_reqs", Json::array()},
                 {"scheduled_cached_reqs",
                  {{"req_ids", Json::array()},
                   {"resumed_req_ids", Json::array()},
                   {"new_block_ids", Json::array()},
                   {"num_computed_tokens", Json::array()}}},
                 {"num_scheduled_tokens", Json::object()},
                 {"scheduled_spec_decode_tokens", Json::object()},
                 {"finished_req_ids", finished},
                 {"preempted_req_ids", preempted}};
  for (const ScheduledTrace& scheduled : trace.scheduled) add_scheduled(trace, scheduled, output);
  return output;
}

bool TraceWriter::counts_on_device() const {
  return config_.async_scheduling || config_.runner == ModelRunner::v2;
}

// The ids of drafts do not matter: an accepted draft equals the token sampled in its place.
void TraceWriter::add_scheduled(const StepTrace& trace, const ScheduledTrace& scheduled,
                                Json& output) {
  const std::string name = requests_.name(scheduled.request);
  output["num_scheduled_tokens"][name] = scheduled.num_scheduled_tokens;
  if (scheduled.num_draft_tokens > 0)
    output["scheduled_spec_decode_tokens"][name] =
        std::vector<std::int32_t>(static_cast<std::size_t>(scheduled.num_draft_tokens),
                                  scheduled.placeholder_drafts || counts_on_device() ? -1 : 0);
  const Json blocks = new_block_ids(trace, scheduled);
  const bool resumed = scheduled.admission == Admission::resumed;
  if (scheduled.admission == Admission::new_request ||
      (resumed && config_.runner == ModelRunner::v2)) {
    Json request = new_request(scheduled);
    request["block_ids"] = blocks;
    output["scheduled_new_reqs"].push_back(request);
    return;
  }
  Json& cached = output["scheduled_cached_reqs"];
  cached["req_ids"].push_back(name);
  cached["new_block_ids"].push_back(blocks);
  cached["num_computed_tokens"].push_back(scheduled.num_computed_tokens);
  if (resumed) cached["resumed_req_ids"].push_back(name);
}

TraceWriter::Json TraceWriter::new_block_ids(const StepTrace& trace,
                                             const ScheduledTrace& scheduled) {
  const std::size_t groups = trace.groups.size();
  const auto first = static_cast<std::size_t>(scheduled.request.value) * groups;
  if (num_known_columns_.size() < first + groups) num_known_columns_.resize(first + groups, 0);
  Json lists = Json::array();
  for (std::size_t g = 0; g < groups; ++g) {
    const auto ids = tables_.block_ids(scheduled.request, static_cast<std::int32_t>(g));
    std::int32_t& known = num_known_columns_[first + g];
    if (scheduled.admission != Admission::running) known = 0;
    lists.push_back(std::vector<std::int32_t>(
        ids.begin() + std::min<std::ptrdiff_t>(known, std::ssize(ids)), ids.end()));
    known = static_cast<std::int32_t>(ids.size());
  }
  return lists;
}

// A resumed request (V2) lists all tokens that it has so far.
TraceWriter::Json TraceWriter::new_request(const ScheduledTrace& scheduled) {
  Json prompt = Json::array();
  for (std::int32_t p = 0; p < scheduled.num_tokens; ++p)
    prompt.push_back(token_id(scheduled.request, p));
  Json request = {{"req_id", requests_.name(scheduled.request)},
                  {"prompt_token_ids", prompt},
                  {"num_computed_tokens", scheduled.num_computed_tokens}};
  if (requests_.max_tokens) request["max_tokens"] = requests_.max_tokens(scheduled.request);
  const std::int32_t priority = requests_.priority ? requests_.priority(scheduled.request) : 0;
  if (priority != 0) request["priority"] = priority;
  const std::uint64_t salt = requests_.cache_salt ? requests_.cache_salt(scheduled.request) : 0;
  if (salt != 0) request["cache_salt"] = std::to_string(salt);
  return request;
}

std::int32_t TraceWriter::token_id(RequestId request, std::int32_t position) {
  const auto next = static_cast<std::int32_t>(token_ids_.size());
  return token_ids_.try_emplace(requests_.token(request, position), next).first->second;
}

TraceWriter::Json TraceWriter::block_ids(RequestId request) const {
  Json lists = Json::array();
  for (std::size_t g = 0; g < config_.kv_cache_config.groups.size(); ++g) {
    const auto ids = tables_.block_ids(request, static_cast<std::int32_t>(g));
    lists.push_back(std::vector<std::int32_t>(ids.begin(), ids.end()));
  }
  return lists;
}

// The lists of every live request whose lists changed, including one that only released blocks it
// no longer needs.
TraceWriter::Json TraceWriter::changed_block_ids(const StepTrace& trace) {
  std::vector<RequestId> ids;
  for (const CacheEvent& event : trace.cache_events)
    if (event.kind == CacheEventKind::column_set) ids.push_back(event.request);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  Json changed = Json::object();
  for (const RequestId id : ids) {
    const bool holds = std::ranges::any_of(trace.groups, [&](const GroupTrace& group) {
      return !tables_.block_ids(id, group.group).empty();
    });
    if (holds) changed[requests_.name(id)] = block_ids(id);
  }
  return changed;
}

TraceWriter::Json TraceWriter::input_batch(const StepTrace& trace) {
  const bool on_device = counts_on_device();
  const char* const counts = on_device ? "num_accepted_tokens" : "num_accepted_tokens_cpu";
  Json batch = {{"req_ids", Json::array()}, {counts, Json::array()}};
  if (on_device) batch["num_computed_tokens"] = Json::array();
  if (config_.runner == ModelRunner::v2) batch["idx_mapping"] = Json::array();
  Json& after = batch["num_accepted_tokens_after_preprocess"] = Json::array();
  for (const RowTrace& row : trace.rows) {
    batch["req_ids"].push_back(requests_.name(row.request));
    batch[counts].push_back(row.num_accepted_tokens_before);
    if (on_device) batch["num_computed_tokens"].push_back(row.num_computed_tokens);
    if (config_.runner == ModelRunner::v2) batch["idx_mapping"].push_back(row.slot);
    after.push_back(row.num_accepted_tokens);
  }
  return batch;
}

TraceWriter::Json TraceWriter::copies(const CopyLaunch& launch) const {
  Json list = Json::array();
  for (const StateCopyTrace& copy : launch.copies)
    list.push_back(
        {{"req_id",
          requests_.name(launch.decisions[static_cast<std::size_t>(copy.decision)].request)},
         {"group", copy.group},
         {"conv_src_block_id", copy.conv_src_block},
         {"temporal_src_block_id", copy.temporal_src_block},
         {"dest_block_id", copy.dst_block},
         {"accept_token_bias", copy.accept_token_bias}});
  return list;
}

TraceWriter::Json TraceWriter::sampled(const StepTrace& trace) {
  Json ids = Json::array();
  Json tokens = Json::array();
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    Json list = Json::array();
    const std::int32_t first =
        row.num_computed_tokens + scheduled.num_scheduled_tokens - scheduled.num_draft_tokens;
    for (std::int32_t i = 0; i < row.num_sampled_tokens; ++i)
      list.push_back(token_id(row.request, first + i));
    ids.push_back(requests_.name(row.request));
    tokens.push_back(list);
  }
  return {{"req_ids", ids}, {"sampled_token_ids", tokens}};
}

}  // namespace hybridscope
