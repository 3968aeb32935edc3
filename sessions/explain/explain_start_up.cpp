#include "sessions/explain/explain_start_up.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/engine/scheduler_setup.h"
#include "core/metadata/builder_policies.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;
using Kind = CudagraphCorrectionKind;

constexpr std::size_t kLabelWidth = 13;
constexpr std::size_t kMaxSizesListed = 8;

// "3, 6, 9, 18, 24", "1, 2, 4, .., 512 (51 sizes)".
std::string sizes_words(const std::vector<std::int32_t>& sizes) {
  if (sizes.empty()) return "none";
  if (sizes.size() <= kMaxSizesListed) return fmt::format("{}", fmt::join(sizes, ", "));
  return fmt::format("{}, {}, {}, .., {} ({} sizes)", sizes[0], sizes[1], sizes[2], sizes.back(),
                     sizes.size());
}

std::string_view support_name(AttentionCGSupport support) {
  switch (support) {
    case AttentionCGSupport::never: return "NEVER";
    case AttentionCGSupport::uniform_single_token_decode: return "UNIFORM_SINGLE_TOKEN_DECODE";
    case AttentionCGSupport::uniform_batch: return "UNIFORM_BATCH";
    case AttentionCGSupport::always: return "ALWAYS";
  }
  return {};
}

std::string_view kind_name(Kind kind) {
  static constexpr std::string_view kNames[] = {"sizes_above_batched_tokens",
                                                "largest_size_lowered",
                                                "not_compiled_piecewise",
                                                "full_needs_always",
                                                "never_supported",
                                                "drafts_need_uniform_batch",
                                                "sizes_rounded"};
  return name_at(kNames, kind);
}

bool is_about_the_mode(Kind kind) {
  return kind == Kind::not_compiled_piecewise || kind == Kind::full_needs_always ||
         kind == Kind::never_supported || kind == Kind::drafts_need_uniform_batch;
}

std::string mode_reason(const CudagraphCorrection& correction) {
  const std::string_view level = support_name(correction.min_cg_support);
  switch (correction.kind) {
    case Kind::not_compiled_piecewise:
      return "at optimization level 0 the model is not compiled in pieces";
    case Kind::full_needs_always:
      return fmt::format(
          "full graphs for any batch need ALWAYS, the weakest metadata builder supports {}", level);
    case Kind::drafts_need_uniform_batch:
      return fmt::format(
          "with drafts a decode has 1 + K tokens a row, which needs UNIFORM_BATCH, the weakest "
          "metadata builder supports {}",
          level);
    default: return "a metadata builder supports no full graphs";
  }
}

std::string why_not_asynchronous(const EngineSetup& setup) {
  if (setup.config.speculative_method != SpeculativeMethod::ngram)
    return "method draft_model has it when asked for";
  if (setup.config.runner == ModelRunner::v1)
    return "method ngram drafts on the host from tokens that have returned";
  return setup.release_profile + " does not have it with method ngram";
}

std::string async_words(const EngineSetup& setup) {
  const EngineConfig& config = setup.config;
  const std::string_view state = config.async_scheduling ? "on" : "off";
  switch (setup.async_reason) {
    case AsyncReason::requested: return fmt::format("{}, as asked for", state);
    case AsyncReason::supported:
      return fmt::format(
          "{}, the default{}: a frame is scheduled while the one before is in flight", state,
          config.num_speculative_tokens > 0 ? " for drafts made on the device" : "");
    case AsyncReason::method_not_supported:
      return fmt::format("{}: {}", state, why_not_asynchronous(setup));
  }
  return {};
}

std::string runner_words(const EngineSetup& setup) {
  const bool v1 = setup.config.runner == ModelRunner::v1;
  if (!setup.release_profile.empty()) return v1 ? "V1" : "V2";
  return v1 ? "V1, the reference's default for every hybrid model (V2 is opt-in: its list has "
              "attention-only architectures)"
            : "V2, as asked for (the reference takes V1 for every hybrid model)";
}

std::string mode_words(const EngineSetup& setup) {
  const CUDAGraphMode asked = setup.config.cudagraph_mode;
  const CUDAGraphMode mode = setup.cudagraphs.cudagraph_mode;
  if (mode == asked) return std::string(cudagraph_mode_name(mode));
  return fmt::format("{} instead of {}", cudagraph_mode_name(mode), cudagraph_mode_name(asked));
}

// The sizes of the graphs of uniform decodes where each is rounded by itself; else empty.
std::vector<std::int32_t> decode_sizes(const EngineSetup& setup) {
  const CudagraphDispatchConfig captured = captured_graphs(setup.config, setup.cudagraphs);
  if (captured.num_spec == 0 || captured.decode_graphs == DecodeGraphs::rounded_list) return {};
  return captured_sizes(captured, /*uniform_alone=*/true);
}

// "80 GiB * 0.92 = 73.6 GiB, less 40 GiB of weights and 2 GiB of activations: 31.6 GiB for blocks".
std::string memory_words(const GpuMemory& memory) {
  const auto gib = [](std::int64_t bytes) {
    return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / (1 << 30));
  };
  return fmt::format("{} * {} = {}, less {} of weights and {} of activations: {} for blocks",
                     gib(memory.total), memory.utilization, gib(memory.requested),
                     gib(memory.weights), gib(memory.activations), gib(memory.left()));
}

Json memory_to_json(const GpuMemory& memory) {
  return {{"total", memory.total},
          {"utilization", memory.utilization},
          {"requested", memory.requested},
          {"weights", memory.weights},
          {"activations", memory.activations},
          {"kv_cache", memory.left()}};
}

Json correction_to_json(const CudagraphCorrection& correction) {
  Json json = {{"kind", kind_name(correction.kind)}};
  if (is_about_the_mode(correction.kind)) {
    json["from"] = cudagraph_mode_name(correction.from);
    json["to"] = cudagraph_mode_name(correction.to);
    json["min_cg_support"] = support_name(correction.min_cg_support);
  } else {
    json["limit"] = correction.limit;
    json["before"] = correction.before;
    json["after"] = correction.after;
  }
  json["words"] = correction_words(correction);
  return json;
}

constexpr std::string_view kProfileStart = "vllm-";

}  // namespace

std::string_view runner_name(ModelRunner runner) { return runner == ModelRunner::v1 ? "v1" : "v2"; }

std::string correction_words(const CudagraphCorrection& correction) {
  if (is_about_the_mode(correction.kind))
    return fmt::format("cudagraph_mode {} became {}: {}", cudagraph_mode_name(correction.from),
                       cudagraph_mode_name(correction.to), mode_reason(correction));
  const std::string before = sizes_words(correction.before);
  const std::string after = sizes_words(correction.after);
  switch (correction.kind) {
    case Kind::sizes_above_batched_tokens:
      return fmt::format(
          "cudagraph_capture_sizes above max_num_batched_tokens {} are dropped: {} became {}",
          correction.limit, before, after);
    case Kind::largest_size_lowered:
      return fmt::format(
          "max_cudagraph_capture_size {} became {}, the largest size of the list up to it and to "
          "max_num_batched_tokens {}",
          before, after, correction.limit);
    default:
      return fmt::format("cudagraph_capture_sizes became multiples of 1 + K = {}: {} became {}",
                         correction.limit, before, after);
  }
}

std::string mode_note(const EngineSetup& setup) {
  const ModelLayout& layout = setup.layout;
  const auto& asked = layout.settings.mamba_cache_mode;
  if (layout.mode_reason == ModeReason::prefix_caching_off && asked &&
      *asked != MambaCacheMode::none)
    return fmt::format("prefix caching is off: mode none instead of {}",
                       mamba_cache_mode_name(*asked));
  if (layout.mode_reason == ModeReason::all_unsupported)
    return fmt::format("{} has no mode all: it runs in align", layout.model.name);
  const std::string release =
      setup.release_profile.empty() ? "" : " " + setup.release_profile.substr(kProfileStart.size());
  if (layout.mode_reason == ModeReason::none_with_caching)
    return fmt::format("vLLM{} makes mode none into {} when prefix caching is on", release,
                       mamba_cache_mode_name(layout.mamba_cache_mode));
  if (!release.empty() && layout.settings.mamba_cache_mode == MambaCacheMode::none &&
      !layout.settings.enable_prefix_caching)
    return fmt::format(
        "mode none is taken as prefix caching off; vLLM{} itself needs --no-enable-prefix-caching",
        release);
  return {};
}

std::vector<std::string> start_up_notes(const EngineSetup& setup) {
  std::vector<std::string> notes;
  if (std::string note = mode_note(setup); !note.empty()) notes.push_back(std::move(note));
  if (!setup.chosen_by_release.empty())
    notes.push_back(fmt::format("{} chose: {}", setup.release_profile,
                                fmt::join(setup.chosen_by_release, ", ")));
  if (setup.async_reason == AsyncReason::method_not_supported)
    notes.push_back("asynchronous scheduling is " + async_words(setup));
  if (setup.config.kv_consumer && !setup.config.async_scheduling)
    notes.push_back("kv_consumer changes nothing: without a frame in flight no free has to wait");
  const bool default_sizes = setup.config.cudagraph_capture_sizes.empty();
  for (const CudagraphCorrection& correction : setup.cudagraphs.corrections)
    if (correction.kind != Kind::sizes_rounded || !default_sizes)
      notes.push_back(correction_words(correction));
  return notes;
}

std::string explain_start_up(const EngineSetup& setup) {
  const EngineConfig& config = setup.config;
  TextPage page;
  page.heading("Start-up");
  if (!setup.chosen_by_release.empty())
    page.item("chosen", kLabelWidth,
              fmt::format("{}, by {}, because they were not set",
                          fmt::join(setup.chosen_by_release, ", "), setup.release_profile));
  page.item("runner", kLabelWidth, runner_words(setup));
  page.item("async", kLabelWidth, async_words(setup));
  page.item("max_num_seqs", kLabelWidth, std::to_string(config.max_num_seqs));
  if (setup.gpu_memory) page.item("GPU memory", kLabelWidth, memory_words(*setup.gpu_memory));
  page.item("graphs", kLabelWidth,
            fmt::format("{}; the weakest metadata builder supports {}", mode_words(setup),
                        support_name(min_cg_support(config))));
  if (setup.cudagraphs.cudagraph_mode != CUDAGraphMode::none)
    page.item("capture sizes", kLabelWidth,
              fmt::format("{} tokens", fmt::join(setup.cudagraphs.capture_sizes, ", ")));
  if (const std::vector<std::int32_t> sizes = decode_sizes(setup); !sizes.empty())
    page.item("of decodes", kLabelWidth,
              fmt::format("{} tokens: each size as a multiple of 1 + K = {}",
                          fmt::join(sizes, ", "), 1 + config.num_speculative_tokens));
  for (const CudagraphCorrection& correction : setup.cudagraphs.corrections)
    page.item("corrected", kLabelWidth, correction_words(correction));
  return page.take();
}

Json start_up_to_json(const EngineSetup& setup) {
  const EngineConfig& config = setup.config;
  const bool graphs = setup.cudagraphs.cudagraph_mode != CUDAGraphMode::none;
  Json corrections = Json::array();
  for (const CudagraphCorrection& correction : setup.cudagraphs.corrections)
    corrections.push_back(correction_to_json(correction));
  Json json = {
      {"runner", runner_name(config.runner)},
      {"async_scheduling", config.async_scheduling},
      {"async_reason", async_words(setup)},
      {"cudagraph_mode_asked", cudagraph_mode_name(config.cudagraph_mode)},
      {"cudagraph_mode", cudagraph_mode_name(setup.cudagraphs.cudagraph_mode)},
      {"min_cg_support", support_name(min_cg_support(config))},
      {"cudagraph_capture_sizes", graphs ? Json(setup.cudagraphs.capture_sizes) : Json::array()},
      {"cudagraph_decode_sizes", decode_sizes(setup)},
      {"corrections", std::move(corrections)}};
  if (!setup.release_profile.empty()) json["chosen_by_release"] = setup.chosen_by_release;
  if (setup.gpu_memory) json["gpu_memory"] = memory_to_json(*setup.gpu_memory);
  return json;
}

}  // namespace hybridscope
