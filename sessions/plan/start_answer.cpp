#include "sessions/plan/start_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/model/model_layout.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

constexpr std::size_t kLabelWidth = 12;

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::vector<std::string> assumptions(const EngineSettings& given) {
  std::vector<std::string> assumed;
  if (!release_of(given))
    assumed.push_back(
        fmt::format("vLLM {}, the newest that is known (--engine)", release_name(kNewestRelease)));
  if (!given.gpu) assumed.push_back(fmt::format("{} (--gpu)", resolved_gpu(given).product));
  if (!given.kv_cache_memory_bytes && !given.gpu_memory_bytes && !given.num_gpu_blocks_override)
    assumed.emplace_back("60 GiB for blocks (--kv-memory, or --gpu-memory and --weights-memory)");
  return assumed;
}

struct StartCandidate {
  const char* setting;
  std::string value;
};

// What could lift the refusal of each stage.
std::vector<StartCandidate> start_candidates(const StartPlan& start) {
  const StartupPlan& plan = start.plan;
  const std::int64_t block = plan.groups.bytes_per_block;
  switch (plan.refused_at) {
    case RefusalStage::none:
    case RefusalStage::block_size: return {};
    case RefusalStage::validate_block_size:
      return {{"max_num_batched_tokens", std::to_string(plan.layers.block_size)}};
    case RefusalStage::graphs:
      return {{"max_num_seqs", std::to_string(plan.num_blocks)},
              {"kv_cache_memory_bytes", std::to_string(plan.config.max_num_seqs * block)},
              {"cudagraph_mode", "NONE"}};
    case RefusalStage::memory: break;
  }
  std::vector<StartCandidate> all;
  if (plan.longest_length > 1)
    all.push_back({"max_model_len", std::to_string(plan.longest_length)});
  // One block more than the request's where the null block does not count.
  all.push_back({"kv_cache_memory_bytes", std::to_string(plan.blocks_per_request * block)});
  all.push_back({"kv_cache_memory_bytes", std::to_string((plan.blocks_per_request + 1) * block)});
  return all;
}

std::vector<StartAdvice> find_advice(const ModelSpec& model, const StartAnswer& answer) {
  std::vector<StartAdvice> advice;
  if (!answer.start) return advice;
  for (const StartCandidate& candidate : start_candidates(*answer.start)) {
    const bool is_there =
        std::ranges::find(advice, candidate.setting, &StartAdvice::setting) != advice.end();
    EngineSettings changed = answer.settings;
    if (is_there ||
        !set_setting_text(changed, *find_setting("", candidate.setting), candidate.value).ok())
      continue;
    if (changed.kv_cache_memory_bytes) {
      changed.gpu_memory_bytes.reset();
      changed.num_gpu_blocks_override.reset();
    }
    const auto tried = plan_start(model, changed);
    if (tried.ok() && tried.value().plan.refused_at == RefusalStage::none)
      advice.push_back({candidate.setting, candidate.value, std::move(changed)});
  }
  return advice;
}

}  // namespace

Result<StartAnswer> answer_start(const ModelSpec& model, const EngineSettings& settings,
                                 WantedLength length) {
  StartAnswer answer{.model = model.name, .settings = settings, .assumed = assumptions(settings)};
  if (!release_of(settings)) answer.settings.engine = EngineProfile::vllm(kNewestRelease);
  auto start = plan_start(model, answer.settings, length);
  if (!start.ok()) {
    if (start.error().kind != ErrorKind::not_available) return start.error();
    answer.refusal = start.error().message;
    return answer;
  }
  answer.start = std::move(start).value();
  answer.refusal = answer.start->plan.refusal;
  if (length == WantedLength::longest_that_fits)
    answer.settings.max_model_len =
        static_cast<std::int32_t>(answer.start->plan.config.max_model_len);
  answer.advice = find_advice(model, answer);
  return answer;
}

std::string group_words(const LayerSpec& spec) {
  switch (spec.kind) {
    case SpecKind::full: return "full attention";
    case SpecKind::mla: return "MLA";
    case SpecKind::sliding_window:
      return fmt::format("sliding window of {} tokens", grouped_number(spec.window));
    case SpecKind::chunked_local:
      return fmt::format("attention in chunks of {} tokens", grouped_number(spec.window));
    case SpecKind::circular_buffer: return "circular buffer";
    case SpecKind::mamba:
      return spec.is_ple ? "PLE short convolution" : std::string(mamba_type_name(spec.mamba_type));
  }
  return {};
}

namespace {

// "vLLM 0.33.0 on NVIDIA H100 80GB HBM3".
std::string where_words(const StartAnswer& answer) {
  return fmt::format("vLLM {} on {}", release_name(*release_of(answer.settings)),
                     resolved_gpu(answer.settings).product);
}

std::string advice_words(const StartAdvice& advice) {
  if (advice.setting == "kv_cache_memory_bytes")
    return fmt::format("with {} for blocks", gib(std::stoll(advice.value)));
  if (advice.setting == "cudagraph_mode") return "with --enforce-eager";
  std::string flag = advice.setting;
  std::ranges::replace(flag, '_', '-');
  return fmt::format("with --{} {}", flag, advice.value);
}

void add_refusal(const StartAnswer& answer, TextPage& page) {
  page.line("It does not start:");
  for (const std::string& line : split_words(answer.refusal, '\n')) page.line(line);
  if (answer.advice.empty()) return;
  std::vector<std::string> ways;
  for (const StartAdvice& advice : answer.advice) ways.push_back(advice_words(advice));
  page.line(fmt::format("It starts {} (each was tried by itself).", fmt::join(ways, ", or ")));
}

void add_sizes(const StartPlan& start, TextPage& page) {
  const StartupPlan& plan = start.plan;
  const StartupConfig& config = plan.config;
  page.item("settings", kLabelWidth,
            fmt::format("max_model_len {}, max_num_seqs {}, max_num_batched_tokens {}, prefix "
                        "caching {}, mode {}",
                        grouped_number(config.max_model_len), grouped_number(config.max_num_seqs),
                        grouped_number(config.max_num_batched_tokens),
                        config.enable_prefix_caching ? "on" : "off",
                        mamba_cache_mode_name(config.mamba_cache_mode)));
  if (plan.num_blocks > 0)
    page.item(
        "blocks", kLabelWidth,
        fmt::format("{} of {} bytes, the null block included; a request of max_model_len "
                    "counts as {}",
                    grouped_number(plan.num_blocks), grouped_number(plan.groups.bytes_per_block),
                    grouped_number(plan.blocks_per_request)));
  std::vector<std::vector<std::string>> rows;
  for (const StartupGroup& group : plan.groups.groups)
    rows.push_back({group_words(group.spec), grouped_number(std::ssize(group.layers)),
                    grouped_number(group.spec.block_size),
                    grouped_number(group.spec.page_size_bytes)});
  if (rows.empty()) return;
  page.table({{.title = "group"},
              {.title = "layers", .numeric = true},
              {.title = "tokens of a block", .numeric = true},
              {.title = "bytes in a layer", .numeric = true}},
             rows);
}

}  // namespace

std::string explain_start(const StartAnswer& answer) {
  TextPage page;
  page.title(fmt::format("{}, {}", answer.model, where_words(answer)));
  if (!answer.assumed.empty())
    page.line(fmt::format("Assumed: {}.", fmt::join(answer.assumed, "; ")));
  page.heading("Start");
  if (answer.starts())
    page.line("It starts.");
  else
    add_refusal(answer, page);
  if (!answer.start) return page.take();
  add_sizes(*answer.start, page);
  page.heading("Its log");
  for (const std::string& line : answer.start->plan.lines) page.line(line);
  return page.take();
}

namespace {

using Json = nlohmann::ordered_json;

Json groups_to_json(const StartupPlan& plan) {
  Json groups = Json::array();
  for (const StartupGroup& group : plan.groups.groups)
    groups.push_back({{"kind", spec_kind_name(group.spec.kind)},
                      {"layers", group.layers.size()},
                      {"block_size", group.spec.block_size},
                      {"page_size_bytes", group.spec.page_size_bytes}});
  return groups;
}

}  // namespace

Json start_to_json(const StartAnswer& answer) {
  Json json = {{"starts", answer.starts()},
               {"release", release_name(*release_of(answer.settings))},
               {"gpu", resolved_gpu(answer.settings).name},
               {"assumed", answer.assumed}};
  if (!answer.starts()) json["refusal"] = answer.refusal;
  for (const StartAdvice& advice : answer.advice)
    json["starts_with"].push_back({{"setting", advice.setting}, {"value", advice.value}});
  if (!answer.start) return json;
  const StartupPlan& plan = answer.start->plan;
  if (!answer.starts()) json["refused_at"] = refusal_stage_name(plan.refused_at);
  json["max_model_len"] = plan.config.max_model_len;
  json["max_num_seqs"] = plan.config.max_num_seqs;
  json["max_num_batched_tokens"] = plan.config.max_num_batched_tokens;
  json["enable_prefix_caching"] = plan.config.enable_prefix_caching;
  json["mamba_cache_mode"] = mamba_cache_mode_name(plan.config.mamba_cache_mode);
  json["block_size"] = plan.layers.block_size;
  json["bytes_per_block"] = plan.groups.bytes_per_block;
  json["num_blocks"] = plan.num_blocks;
  json["blocks_per_request"] = plan.blocks_per_request;
  json["kv_tokens"] = plan.kv_tokens;
  json["concurrency"] = plan.concurrency;
  json["groups"] = groups_to_json(plan);
  json["log"] = plan.lines;
  return json;
}

}  // namespace hybridscope
