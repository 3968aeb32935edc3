// What a release plans before its first step, from config.json, flags, GPU and memory
// (tests/golden/README.md, "models").
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/model_layout.h"
#include "sessions/conformance/recompute.h"
#include "sessions/startup/architectures.h"
#include "sessions/startup/startup_plan.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// What a refused configuration says goes on with what depends on other packages.
constexpr std::size_t kRefusalOfConfig = 120;

// Lines about sizes; a release logs others that no size depends on.
constexpr std::string_view kSizeLines[] = {"Setting ",
                                           "Padding ",
                                           "Add ",
                                           "GPU KV cache size",
                                           "Maximum concurrency",
                                           "Auto-fit",
                                           "Mamba cache mode is",
                                           "Overriding",
                                           "Updating"};

json size_lines(const json& lines) {
  json kept = json::array();
  for (const json& line : lines)
    if (line.is_string() && std::ranges::any_of(kSizeLines, [&](std::string_view begin) {
          return line.get_ref<const std::string&>().starts_with(begin);
        }))
      kept.push_back(line);
  return kept;
}

json refusal(std::string_view stage, const std::string& words) {
  return {{"stage", stage},
          {"refusal", stage == "config" ? words.substr(0, kRefusalOfConfig) : words}};
}

// The value, or null.
json member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? json(nullptr) : *found;
}

json member_or(const json& object, const char* name, json absent) {
  const auto found = object.find(name);
  return found == object.end() ? std::move(absent) : *found;
}

// One layer's spec without what the others of its kind repeat.
json spec_of(const json& layer) {
  json spec = {
      {"kind", member(layer, "kind")},
      {"block_tokens", member(layer, "block_tokens")},
      {"page_bytes", member(layer, "page_bytes")},
      {"draft", member_or(layer, "draft", false)},
      {"num_kv_heads", member(layer, "num_kv_heads")},
      {"head_size", member(layer, "head_size")},
      {"window", member_or(layer, "sliding_window", member(layer, "attention_chunk_size"))},
      {"shapes", member(layer, "shapes")},
      {"dtypes", member(layer, "dtypes")},
      {"num_speculative_blocks", member_or(layer, "num_speculative_blocks", 0)},
      {"num_prefill_checkpoint_blocks", member_or(layer, "num_prefill_checkpoint_blocks", 0)}};
  return spec;
}

// How many layers have each spec, the specs in the order of their texts.
void count_layers(json& counts, const json& spec, std::int64_t layers) {
  json& count = counts[spec.dump()];
  count = (count.is_null() ? 0 : count.get<std::int64_t>()) + layers;
}

json spec_of(const LayerSpec& spec, bool is_draft) {
  json layer = {{"kind", spec_kind_name(spec.kind)},
                {"block_tokens", spec.block_size},
                {"page_bytes", spec.page_size_bytes},
                {"draft", is_draft},
                {"num_speculative_blocks", spec.num_speculative_blocks},
                {"num_prefill_checkpoint_blocks", spec.num_prefill_checkpoint_blocks}};
  if (spec.num_kv_heads > 0) {
    layer["num_kv_heads"] = spec.num_kv_heads;
    layer["head_size"] = spec.head_size;
  }
  if (spec.window > 0) layer["sliding_window"] = spec.window;
  for (const StateTensorSpec& state : spec.states) {
    layer["shapes"].push_back(state.shape);
    layer["dtypes"].push_back(dtype_name(state.dtype));
  }
  return spec_of(layer);
}

constexpr IntegerRange kCounts{.min = 1, .max = INT32_MAX};

StartupSettings read_settings(const JsonValue& vector) {
  StartupSettings settings;
  const JsonValue release = vector["release"];
  const auto known = parse_release(release.text());
  if (!known) release.expected("a release that is modelled");
  settings.release = *known;
  const JsonValue gpu = vector["gpu"];
  settings.gpu = find_gpu(gpu.text());
  if (settings.gpu == nullptr) gpu.expected("a GPU that is known");
  settings.entry_point =
      vector["usage"].one_of({"serve", "llm"}) == 0 ? EntryPoint::serve : EntryPoint::llm;
  if (const auto memory = vector.find_non_null("kv_cache_memory_bytes"))
    settings.kv_cache_memory_bytes = memory->int64({0, std::int64_t{1} << 50});
  const JsonValue flags = vector["flags"];
  settings.tensor_parallel_size =
      flags.int64_at("tensor_parallel_size", {1, 1024}).value_or(settings.tensor_parallel_size);
  settings.kv_cache_dtype = flags.string_at("kv_cache_dtype").value_or("auto");
  settings.mamba_ssm_cache_dtype = flags.string_at("mamba_ssm_cache_dtype").value_or("auto");
  settings.enable_prefix_caching = flags.boolean_at("enable_prefix_caching");
  settings.max_model_len = flags.int64_at("max_model_len", {-1, INT32_MAX});
  if (settings.max_model_len == 0) flags["max_model_len"].expected("-1 or a length");
  settings.max_num_seqs = flags.int64_at("max_num_seqs", kCounts);
  settings.max_num_batched_tokens = flags.int64_at("max_num_batched_tokens", kCounts);
  settings.block_size = flags.int64_at("block_size", {1, 1 << 20});
  settings.num_gpu_blocks_override = flags.int64_at("num_gpu_blocks_override", {1, 1 << 30});
  settings.enforce_eager = flags.boolean_at("enforce_eager").value_or(false);
  if (const auto mode = flags.find_non_null("mamba_cache_mode"))
    settings.mamba_cache_mode = static_cast<MambaCacheMode>(mode->one_of({"none", "all", "align"}));
  if (const auto drafts = flags.find_non_null("speculative_config")) {
    settings.speculative_method = (*drafts)["method"].string();
    settings.num_speculative_tokens = (*drafts)["num_speculative_tokens"].int64({0, 1024});
  }
  return settings;
}

json plan_json(const StartupModel& model, const StartupPlan& plan) {
  const StartupConfig& config = plan.config;
  json answer = {{"max_num_seqs", config.max_num_seqs},
                 {"max_num_batched_tokens", config.max_num_batched_tokens},
                 {"prefix_caching", config.enable_prefix_caching},
                 {"mamba_cache_mode", mamba_cache_mode_name(config.mamba_cache_mode)},
                 {"mamba_ssm_cache_dtype", config.mamba_ssm_cache_dtype}};
  if (plan.refused_at != RefusalStage::none)
    answer.update(refusal(refusal_stage_name(plan.refused_at), plan.refusal));
  if (plan.refused_at == RefusalStage::block_size) return answer;
  answer["max_model_len"] = config.max_model_len;
  answer["block_size"] = plan.layers.block_size;
  answer["lines"] = size_lines(plan.lines);
  answer["layers"] = json::object();
  for (std::size_t i = 0; i < plan.layers.specs.size(); ++i)
    count_layers(answer["layers"], spec_of(plan.layers.specs[i], model.layers[i].is_draft), 1);
  if (plan.refused_at == RefusalStage::memory) return answer;
  answer["num_blocks"] = plan.num_blocks;
  answer["kv_tokens"] = plan.kv_tokens;
  answer["concurrency"] = fmt::format("{:.2f}", plan.concurrency);
  answer["groups"] = json::array();
  for (const StartupGroup& group : plan.groups.groups)
    answer["groups"].push_back({{"kind", spec_kind_name(group.spec.kind)},
                                {"layers", group.layers.size()},
                                {"block_tokens", group.spec.block_size}});
  return answer;
}

// That of its first layers, where it holds several.
json group_kind(const json& group) {
  if (member(group, "kind") != "uniform_type") return member(group, "kind");
  const json members = member(group, "members");
  return members.is_array() && !members.empty() ? member(members.front(), "kind") : json(nullptr);
}

}  // namespace

json startup_answers(const json& vector) {
  const JsonValue top(vector);
  const std::string stage = top.string_at("stage").value_or("");
  const std::string words = top.string_at("refusal").value_or("");
  if (stage == "config") return refusal(stage, words);
  json answer = json::object();
  for (const char* name : {"max_num_seqs", "max_num_batched_tokens", "prefix_caching",
                           "mamba_cache_mode", "mamba_ssm_cache_dtype"})
    answer[name] = member(vector, name);
  if (!stage.empty()) answer.update(refusal(stage, words));
  if (stage == "block_size") return answer;
  answer["max_model_len"] = member(vector, "max_model_len");
  answer["block_size"] = member(vector, "block_size");
  answer["lines"] = size_lines(member(vector, "lines"));
  answer["layers"] = json::object();
  if (const auto layers = top.find_non_null("layers"))
    for (const JsonValue& layer : layers->elements())
      count_layers(answer["layers"], spec_of(layer.json()), layer["layers"].int32());
  if (stage == "memory") return answer;
  for (const char* name : {"num_blocks", "kv_tokens", "concurrency"})
    answer[name] = member(vector, name);
  answer["groups"] = json::array();
  if (const auto groups = top.find_non_null("groups"))
    for (const JsonValue& group : groups->elements())
      answer["groups"].push_back({{"kind", group_kind(group.json())},
                                  {"layers", member(group.json(), "layers")},
                                  {"block_tokens", member(group.json(), "block_tokens")}});
  return answer;
}

json recompute_startup(const VectorCase& vector, const VectorKernels&) {
  const StartupSettings settings = read_settings(vector.input);
  const std::string config = vector.config.json().dump();
  std::optional<ConfigText> draft;
  std::string draft_text;
  if (const auto given = vector.input.find_non_null("draft_config")) {
    draft_text = given->json().dump();
    draft = ConfigText{draft_text, "draft config.json"};
  }
  const auto model = read_startup_model({config, "config.json"}, draft, settings);
  if (!model.ok() && model.error().kind != ErrorKind::not_available)
    vector.config.fail(model.error().message);
  if (!model.ok()) return refusal("config", model.error().message);
  return plan_json(model.value(), plan_startup(model.value(), settings));
}

}  // namespace hybridscope
