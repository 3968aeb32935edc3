#include "sessions/startup/startup_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace hybridscope {
namespace {

constexpr double kMostTokens = 9.0e18;
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

// "12.5", "3.0": as Python prints round(bytes / 2**30, 2).
std::string gib_words(std::int64_t bytes) {
  std::string words = fmt::format("{:.2f}", static_cast<double>(bytes) / kGib);
  if (words.ends_with("0")) words.pop_back();
  return words;
}

// "1,234,567".
std::string grouped(std::int64_t number) {
  std::string words = std::to_string(number);
  for (std::ptrdiff_t i = std::ssize(words) - 3; i > 0; i -= 3)
    words.insert(static_cast<std::size_t>(i), ",");
  return words;
}

// Bytes of blocks; what does not fit into 63 bits is more than any memory.
std::int64_t bytes_of(std::int64_t blocks, std::int64_t bytes_per_block) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(blocks, bytes_per_block, &bytes)
             ? std::numeric_limits<std::int64_t>::max()
             : bytes;
}

class Planner {
 public:
  Planner(const StartupModel& model, const StartupSettings& settings)
      : model_(model), settings_(settings) {}

  StartupPlan plan() {
    plan_.config = startup_config(model_, settings_, plan_.lines);
    auto layers = specify_layers(model_, settings_, plan_.config, plan_.lines);
    if (!layers.ok()) return refused(RefusalStage::block_size, layers.error().message);
    plan_.layers = std::move(layers).value();
    auto groups = group_layers(model_, settings_, plan_.layers.specs, plan_.lines);
    if (!groups.ok()) return refused(RefusalStage::memory, groups.error().message);
    plan_.groups = std::move(groups).value();
    if (!fits_one_request()) return std::move(plan_);
    count_blocks();
    if (!allows_block_size()) return std::move(plan_);
    check_graphs();
    return std::move(plan_);
  }

 private:
  StartupPlan refused(RefusalStage stage, std::string words) {
    plan_.refused_at = stage;
    plan_.refusal = std::move(words);
    return std::move(plan_);
  }

  std::int64_t bytes_per_block() const { return plan_.groups.bytes_per_block; }

  std::int64_t needed_blocks(std::int64_t num_tokens) const {
    std::int64_t blocks = 0;
    for (const StartupGroup& group : plan_.groups.groups)
      blocks += blocks_per_request(group.spec, settings_, plan_.config, num_tokens);
    return blocks;
  }

  // The longest request, up to max_model_len, whose blocks fit.
  std::int64_t longest_that_fits(std::int64_t memory) const {
    std::int64_t low = 0;
    std::int64_t high = plan_.config.max_model_len;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (bytes_of(needed_blocks(middle), bytes_per_block()) <= memory)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  std::int64_t memory() const {
    return settings_.num_gpu_blocks_override
               ? bytes_of(*settings_.num_gpu_blocks_override, bytes_per_block())
               : settings_.kv_cache_memory_bytes;
  }

  bool fits_one_request() {
    // From 0.29.0 on the null block is not counted as memory that a request can have.
    const std::int64_t usable =
        memory() - (settings_.release >= since::kNullBlockReserved ? bytes_per_block() : 0);
    std::int64_t& length = plan_.config.max_model_len;
    if (plan_.config.fits_max_model_len) {
      const std::int64_t fits = longest_that_fits(usable);
      say_auto_fit(fits, usable);
      if (fits > 0) length = fits;
    }
    plan_.blocks_per_request = needed_blocks(length);
    const std::int64_t needed = bytes_of(plan_.blocks_per_request, bytes_per_block());
    if (needed <= usable) return true;
    const std::int64_t longest = longest_that_fits(usable);
    plan_.longest_length = longest;
    plan_.refused_at = RefusalStage::memory;
    plan_.refusal = fmt::format(
        "ValueError: To serve at least one request with the model's max seq len ({}), ({} GiB KV "
        "cache is needed, which is larger than the available KV cache memory ({} GiB). {}Try "
        "increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) "
        "or decreasing `max_model_len` when initializing the engine. See "
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details.",
        length, gib_words(needed), gib_words(usable),
        longest > 0 ? fmt::format("Based on the available memory, the estimated maximum model "
                                  "length is {}. ",
                                  longest)
                    : std::string());
    return false;
  }

  void say_auto_fit(std::int64_t fits, std::int64_t usable) {
    const std::int64_t told = plan_.config.max_model_len;
    const bool is_old = settings_.release < since::kNewAutoFitLine;
    if (fits >= told)
      plan_.lines.push_back(
          is_old ? fmt::format("Auto-fit max_model_len: full model context length {} fits in "
                               "available GPU memory",
                               told)
                 : fmt::format("Auto-fit max_model_len: full model context length {} fits in "
                               "available KV cache memory ({} GiB GPU)",
                               told, gib_words(usable)));
    else if (fits > 0)
      plan_.lines.push_back(
          is_old ? fmt::format("Auto-fit max_model_len: reduced from {} to {} to fit in available "
                               "GPU memory ({} GiB available for KV cache)",
                               told, fits, gib_words(usable))
                 : fmt::format("Auto-fit max_model_len: reduced from {} to {} to fit in available "
                               "KV cache memory ({} GiB GPU)",
                               told, fits, gib_words(usable)));
  }

  void count_blocks() {
    plan_.num_blocks = memory() / bytes_per_block();
    if (settings_.num_gpu_blocks_override)
      plan_.lines.push_back(
          fmt::format("Overriding num_gpu_blocks={} with num_gpu_blocks_override={}",
                      settings_.kv_cache_memory_bytes / bytes_per_block(), plan_.num_blocks));
    const std::int64_t length = plan_.config.max_model_len;
    plan_.concurrency = static_cast<double>(plan_.num_blocks) /
                        static_cast<double>(std::max<std::int64_t>(plan_.blocks_per_request, 1));
    plan_.kv_tokens = static_cast<std::int64_t>(
        std::min(plan_.concurrency * static_cast<double>(length), kMostTokens));
    const std::string size = fmt::format("GPU KV cache size: {} tokens", grouped(plan_.kv_tokens));
    const std::string most = fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x",
                                         grouped(length), plan_.concurrency);
    if (settings_.release >= since::kOneSizeLine) {
      plan_.lines.push_back(size + ", " + most);
    } else {
      plan_.lines.push_back(size);
      plan_.lines.push_back(most);
    }
  }

  bool has_states() const {
    return std::ranges::any_of(plan_.groups.groups, [](const StartupGroup& group) {
      return group.spec.kind == SpecKind::mamba;
    });
  }

  bool allows_block_size() {
    const std::int64_t block = plan_.layers.block_size;
    if (settings_.release >= since::kWideAlignBlocks ||
        plan_.config.mamba_cache_mode != MambaCacheMode::align ||
        block <= plan_.config.max_num_batched_tokens)
      return true;
    plan_.refused_at = RefusalStage::validate_block_size;
    plan_.refusal = fmt::format(
        "AssertionError: In Mamba cache align mode, block_size ({}) must be <= "
        "max_num_batched_tokens ({}).",
        block, plan_.config.max_num_batched_tokens);
    return false;
  }

  // Decodes are captured in graphs, one state block for each sequence.
  void check_graphs() {
    const std::string& mode = settings_.cudagraph_mode;
    if (settings_.enforce_eager || mode == "NONE" || mode == "PIECEWISE") return;
    if (!has_states() || plan_.config.max_num_seqs <= plan_.num_blocks) return;
    plan_.refused_at = RefusalStage::graphs;
    plan_.refusal = fmt::format(
        "ValueError: max_num_seqs ({}) exceeds available Mamba cache blocks ({}). Each decode "
        "sequence requires one Mamba cache block, so CUDA graph capture cannot proceed. Please "
        "lower max_num_seqs to at most {} or increase gpu_memory_utilization.",
        plan_.config.max_num_seqs, plan_.num_blocks, plan_.num_blocks);
  }

  const StartupModel& model_;
  const StartupSettings& settings_;
  StartupPlan plan_;
};

}  // namespace

std::string_view refusal_stage_name(RefusalStage stage) {
  switch (stage) {
    case RefusalStage::none: return "";
    case RefusalStage::block_size: return "block_size";
    case RefusalStage::memory: return "memory";
    case RefusalStage::validate_block_size: return "validate_block_size";
    case RefusalStage::graphs: return "graphs";
  }
  return "";
}

StartupPlan plan_startup(const StartupModel& model, const StartupSettings& settings) {
  return Planner(model, settings).plan();
}

}  // namespace hybridscope
