#include "sessions/startup/log_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/model_layout.h"
#include "sessions/startup/startup_plan.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// For a plan whose memory is not known: more than any pool has.
constexpr std::int64_t kPlentyOfMemory = std::int64_t{1} << 46;

std::string optional_words(const std::optional<std::int64_t>& number) {
  return number ? grouped_number(*number) : std::string();
}

std::string range_words(std::int64_t least, std::int64_t most) {
  return least == most ? grouped_number(least)
                       : fmt::format("{} to {}", grouped_number(least), grouped_number(most));
}

LoggedSizes sizes_of(const StartupPlan& plan) {
  return read_sizes(LogText(fmt::format("{}\n{}", fmt::join(plan.lines, "\n"), plan.refusal)));
}

class LogComparer {
 public:
  LogComparer(const StartupLog& log, const StartupModel& model, StartupSettings settings)
      : log_(log), model_(model), settings_(std::move(settings)) {}

  LogComparison compare() {
    settle_memory();
    compare_configuration();
    compare_blocks();
    compare_length();
    compare_tokens();
    compare_start();
    return std::move(result_);
  }

 private:
  StartupPlan plan_with(std::int64_t memory) const {
    StartupSettings settings = settings_;
    settings.kv_cache_memory_bytes = memory;
    return plan_startup(model_, settings);
  }

  bool is_refused_block() const { return most_.refused_at == RefusalStage::block_size; }
  std::int64_t bytes_per_block() const {
    return std::max<std::int64_t>(most_.groups.bytes_per_block, 1);
  }

  // vLLM v1/core/kv_cache_utils.py, update_kv_cache_capacity.
  std::int64_t tokens_of(std::int64_t blocks) const {
    return static_cast<std::int64_t>(concurrency_of(blocks) * static_cast<double>(length()));
  }
  double concurrency_of(std::int64_t blocks) const {
    return static_cast<double>(blocks) /
           static_cast<double>(std::max<std::int64_t>(most_.blocks_per_request, 1));
  }
  std::int64_t length() const { return most_.config.max_model_len; }

  // The number of blocks, in an interval, that gives the log's tokens and concurrency.
  std::optional<std::int64_t> blocks_in(std::int64_t least, std::int64_t most) const {
    if (!log_.sizes.tokens) return std::nullopt;
    const double blocks = static_cast<double>(*log_.sizes.tokens) *
                          static_cast<double>(most_.blocks_per_request) /
                          static_cast<double>(std::max<std::int64_t>(length(), 1));
    const auto about = static_cast<std::int64_t>(blocks);
    for (std::int64_t number = about - 1; number <= about + 2; ++number)
      if (number >= least && number <= most && tokens_of(number) == *log_.sizes.tokens &&
          (log_.sizes.concurrency.empty() ||
           fmt::format("{:.2f}", concurrency_of(number)) == log_.sizes.concurrency))
        return number;
    return std::nullopt;
  }

  void settle_memory() {
    is_length_fitted_ = settings_.max_model_len == -1;
    // It is compared by itself; the sizes are those of the length that the log has.
    if (is_length_fitted_ && log_.sizes.length) settings_.max_model_len = log_.sizes.length;
    most_ = plan_with(kPlentyOfMemory);
    if (!is_refused_block()) find_memory();
    least_ = most_;
    if (is_pool_known_) {
      least_ = plan_with(memory_.least);
      most_ = plan_with(memory_.most);
    }
    ours_ = sizes_of(most_);
    least_blocks_ = blocks_with(memory_.least);
    most_blocks_ = blocks_with(memory_.most);
    const auto blocks = blocks_in(least_blocks_, most_blocks_);
    result_.kv_cache_memory_bytes = blocks && !settings_.num_gpu_blocks_override
                                        ? std::max(memory_.least, *blocks * bytes_per_block())
                                        : memory_.least + (memory_.most - memory_.least) / 2;
  }

  void find_memory() {
    is_pool_known_ = true;
    if (log_.memory) {
      memory_ = *log_.memory;
      return;
    }
    if (log_.usable_memory) {
      const bool reserves = settings_.release >= since::kNullBlockReserved;
      memory_ = *log_.usable_memory;
      memory_.least += reserves ? bytes_per_block() : 0;
      memory_.most += reserves ? bytes_per_block() : 0;
      return;
    }
    auto blocks = log_.num_blocks ? log_.num_blocks : settings_.num_gpu_blocks_override;
    if (!blocks) {
      blocks = blocks_in(0, kPlentyOfMemory / bytes_per_block());
      if (blocks)
        result_.notes.push_back(
            fmt::format("the log tells no memory: {} blocks, {:.2f} GiB, give exactly its tokens",
                        grouped_number(*blocks), gib_of(*blocks * bytes_per_block())));
    }
    is_pool_known_ = blocks.has_value();
    if (blocks) memory_.least = memory_.most = *blocks * bytes_per_block();
  }

  static double gib_of(std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30);
  }

  std::int64_t blocks_with(std::int64_t memory) const {
    return settings_.num_gpu_blocks_override.value_or(memory / bytes_per_block());
  }

  void add(std::string what, std::string in_log, std::string ours, bool agrees) {
    const Agreement agreement =
        in_log.empty() ? Agreement::not_in_log : (agrees ? Agreement::agrees : Agreement::differs);
    if (ours.empty() && in_log.empty()) return;
    result_.rows.push_back({.what = std::move(what),
                            .in_log = in_log.empty() ? "-" : std::move(in_log),
                            .ours = ours.empty() ? "-" : std::move(ours),
                            .agreement = agreement});
  }

  void add_same(std::string what, const std::string& in_log, const std::string& ours) {
    add(std::move(what), in_log, ours, in_log == ours);
  }

  void compare_configuration() {
    const StartupConfig& config = most_.config;
    if (!log_.architecture.empty())
      add_same("architecture", log_.architecture, model_.architecture);
    if (log_.max_model_len && !is_length_fitted_)
      add_same("max_model_len", optional_words(log_.max_model_len),
               grouped_number(config.max_model_len));
    if (log_.max_num_batched_tokens)
      add_same("max_num_batched_tokens", optional_words(log_.max_num_batched_tokens),
               grouped_number(config.max_num_batched_tokens));
    if (log_.prefix_caching)
      add_same("prefix caching", *log_.prefix_caching ? "on" : "off",
               config.enable_prefix_caching ? "on" : "off");
    if (!log_.sizes.cache_mode.empty())
      add_same("mamba cache mode", log_.sizes.cache_mode,
               std::string(mamba_cache_mode_name(config.mamba_cache_mode)));
  }

  void compare_blocks() {
    add_same("mamba_ssm_cache_dtype", log_.sizes.ssm_cache_dtype, ours_.ssm_cache_dtype);
    add_same("tokens that backends ask for", optional_words(log_.sizes.kernel_block_size),
             optional_words(ours_.kernel_block_size));
    add_same("tokens of a block", optional_words(log_.sizes.block_size),
             optional_words(ours_.block_size));
    add_same("padding of state pages, %", log_.sizes.page_padding, ours_.page_padding);
    add_same("padding layers", log_.sizes.padding_layers, ours_.padding_layers);
    if (!is_pool_known_) return;
    // Without memory the blocks come from the log: nothing is compared with them.
    if (!log_.memory) return;
    const auto blocks = blocks_in(least_blocks_, most_blocks_);
    add("blocks", optional_words(log_.num_blocks),
        blocks ? grouped_number(*blocks) : range_words(least_blocks_, most_blocks_),
        log_.num_blocks >= least_blocks_ && log_.num_blocks <= most_blocks_);
  }

  void compare_length() {
    if (!log_.sizes.fitted_length || !is_pool_known_) return;
    settings_.max_model_len = -1;
    const std::int64_t least = plan_with(memory_.least).config.max_model_len;
    const std::int64_t most = plan_with(memory_.most).config.max_model_len;
    add("max_model_len that fits", optional_words(log_.sizes.fitted_length),
        range_words(least, most),
        *log_.sizes.fitted_length >= least && *log_.sizes.fitted_length <= most);
  }

  void compare_tokens() {
    const std::string tokens = optional_words(log_.sizes.tokens);
    if (!is_pool_known_) {
      if (log_.sizes.tokens)
        add("KV tokens", tokens, is_refused_block() ? "refused" : "no number of blocks gives it",
            false);
      return;
    }
    if (most_.refused_at == RefusalStage::memory) {
      if (log_.sizes.tokens) add("KV tokens", tokens, "refused", false);
      return;
    }
    const auto blocks = blocks_in(least_blocks_, most_blocks_);
    add("KV tokens", tokens, range_words(tokens_of(least_blocks_), tokens_of(most_blocks_)),
        blocks.has_value());
    const std::string least = fmt::format("{:.2f}", concurrency_of(least_blocks_));
    const std::string most = fmt::format("{:.2f}", concurrency_of(most_blocks_));
    add("concurrency", log_.sizes.concurrency, least == most ? most : least + " to " + most,
        blocks.has_value() ||
            (!log_.sizes.tokens && is_between(log_.sizes.concurrency, least, most)));
    if (log_.sizes.length && !is_length_fitted_)
      add_same("tokens of a request", optional_words(log_.sizes.length), grouped_number(length()));
  }

  static bool is_between(const std::string& number, const std::string& least,
                         const std::string& most) {
    const double value = std::strtod(number.c_str(), nullptr);
    return value >= std::strtod(least.c_str(), nullptr) &&
           value <= std::strtod(most.c_str(), nullptr);
  }

  void compare_start() {
    const LoggedSizes least = sizes_of(least_);
    if (log_.sizes.refused_length) {
      add_same("GiB that one request needs", log_.sizes.needed_gib,
               least.needed_gib.empty() ? "it starts" : least.needed_gib);
      if (log_.sizes.longest)
        add("longest request that fits", optional_words(log_.sizes.longest),
            least.longest && ours_.longest ? range_words(*least.longest, *ours_.longest)
                                           : optional_words(least.longest),
            least.longest && *least.longest <= *log_.sizes.longest &&
                *log_.sizes.longest <= ours_.longest.value_or(*log_.sizes.refused_length));
    }
    if (log_.sizes.refused_seqs)
      add_same("max_num_seqs", optional_words(log_.sizes.refused_seqs),
               grouped_number(most_.config.max_num_seqs));
    if (log_.sizes.refused_block)
      add_same("block above max_num_batched_tokens", optional_words(log_.sizes.refused_block),
               optional_words(ours_.refused_block));
    const std::string in_log = start_in_log();
    if (is_pool_known_ || is_refused_block() || !in_log.empty())
      add("start", in_log, start_words(most_),
          in_log == start_words(most_) || in_log == start_words(least_));
  }

  static std::string stage_words(RefusalStage stage) {
    switch (stage) {
      case RefusalStage::none: return "starts";
      case RefusalStage::block_size: return "refused: block size";
      case RefusalStage::memory: return "refused: one request does not fit";
      case RefusalStage::validate_block_size: return "refused: block above max_num_batched_tokens";
      case RefusalStage::graphs: return "refused: max_num_seqs above the blocks";
    }
    return {};
  }

  static std::string start_words(const StartupPlan& plan) { return stage_words(plan.refused_at); }

  std::string start_in_log() const {
    if (log_.sizes.refused_length) return stage_words(RefusalStage::memory);
    if (log_.sizes.refused_block) return stage_words(RefusalStage::validate_block_size);
    if (log_.sizes.refused_seqs) return stage_words(RefusalStage::graphs);
    return log_.has_started ? stage_words(RefusalStage::none) : std::string();
  }

  const StartupLog& log_;
  const StartupModel& model_;
  StartupSettings settings_;
  bool is_length_fitted_ = false;  // by vLLM (max_model_len -1)
  bool is_pool_known_ = false;     // from memory, or from blocks
  MemoryInterval memory_;
  StartupPlan least_;  // with the least memory that the log's words allow
  StartupPlan most_;
  std::int64_t least_blocks_ = 0;
  std::int64_t most_blocks_ = 0;
  LoggedSizes ours_;
  LogComparison result_;
};

LogComparison compare_on(const Gpu& gpu, const StartupLog& log, const StartupModel& model,
                         StartupSettings settings) {
  settings.gpu = &gpu;
  LogComparison result = LogComparer(log, model, std::move(settings)).compare();
  result.gpu = &gpu;
  return result;
}

// GPUs with the memory and the compute capability that the log tells; all, if none has them.
std::vector<const Gpu*> gpus_like(const StartupLog& log) {
  constexpr double kSameMemory = 2.5;  // GiB: drivers keep more or less for themselves
  std::vector<const Gpu*> like;
  std::vector<const Gpu*> all;
  for (const Gpu& gpu : kGpus) {
    all.push_back(&gpu);
    const bool has_memory =
        log.gpu_memory_gib == 0 || std::abs(gpu.memory_gib - log.gpu_memory_gib) < kSameMemory;
    if (has_memory &&
        log.compute_capability.value_or(gpu.compute_capability) == gpu.compute_capability)
      like.push_back(&gpu);
  }
  return like.empty() ? all : like;
}

}  // namespace

std::string_view agreement_name(Agreement agreement) {
  switch (agreement) {
    case Agreement::agrees: return "agree";
    case Agreement::differs: return "differ";
    case Agreement::not_in_log: return "not in the log";
  }
  return "";
}

std::int64_t LogComparison::differences() const {
  return std::ranges::count(rows, Agreement::differs, &LogRow::agreement);
}

LogComparison compare_log(const StartupLog& log, const StartupModel& model,
                          StartupSettings settings) {
  if (settings.gpu != nullptr) return compare_on(*settings.gpu, log, model, std::move(settings));
  LogComparison best;
  std::vector<std::string_view> equal;
  const std::vector<const Gpu*> candidates = gpus_like(log);
  for (const Gpu* gpu : candidates) {
    LogComparison here = compare_on(*gpu, log, model, settings);
    if (!equal.empty() && here.differences() > best.differences()) continue;
    if (equal.empty() || here.differences() < best.differences()) {
      equal.clear();
      best = std::move(here);
    }
    equal.push_back(gpu->name);
  }
  std::string words = fmt::format("the log names no GPU: planned as on {}", best.gpu->name);
  if (equal.size() > 1)
    words +=
        fmt::format("; as many lines agree on {}", fmt::join(equal.begin() + 1, equal.end(), ", "));
  if (equal.size() < candidates.size()) words += "; on others more differ";
  best.notes.push_back(std::move(words));
  return best;
}

}  // namespace hybridscope
