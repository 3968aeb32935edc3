#include "sessions/plan/startup_log.h"

#include <fmt/core.h>

#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// The size that vLLM starts from where the user gives none (CacheConfig.DEFAULT_BLOCK_SIZE).
constexpr std::int64_t kDefaultBlockSize = 16;

// From this release on one line has both the tokens and the concurrency.
constexpr Release kOneCapacityLine = Release::v0_28_0;

void add_page_lines(const ModelLayout& layout, std::vector<std::string>& lines) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  if (choice.attn_bytes_per_token == 0) return;
  const std::int64_t before = layout.settings.block_size.value_or(kDefaultBlockSize);
  if (choice.block_size > before)
    lines.push_back(
        fmt::format("Setting attention block size to {} tokens to ensure that attention page size "
                    "is >= mamba page size.",
                    choice.block_size));
  if (choice.padding > 0)
    lines.push_back(
        fmt::format("Padding mamba page size by {:.2f}% to ensure that mamba page size and "
                    "attention page size are exactly equal.",
                    padding_waste_percent(choice)));
}

// One line for each kind of layer whose last group is not full.
void add_group_lines(const ModelLayout& layout, std::vector<std::string>& lines) {
  const LayerGroups& groups = layout.page_size.layer_groups;
  std::vector<std::int64_t> layers_of_kind;
  for (const LayerGroup& group : groups.groups) {
    const auto kind = static_cast<std::size_t>(group.kind);
    if (layers_of_kind.size() <= kind) layers_of_kind.resize(kind + 1);
    layers_of_kind[kind] += static_cast<std::int64_t>(group.layers.size());
  }
  for (const std::int64_t layers : layers_of_kind) {
    const std::int64_t missing = groups.group_size - layers % groups.group_size;
    if (layers == 0 || missing == groups.group_size) continue;
    lines.push_back(
        fmt::format("Add {} padding layers, may waste at most {:.2f}% KV cache memory", missing,
                    100.0 * static_cast<double>(missing) / static_cast<double>(layers)));
  }
}

}  // namespace

std::vector<std::string> start_up_log(const EngineSetup& setup, Release release) {
  const ModelLayout& layout = setup.layout;
  std::vector<std::string> lines;
  add_page_lines(layout, lines);
  add_group_lines(layout, lines);
  const double concurrency = static_cast<double>(layout.kv_cache_config.num_blocks) /
                             static_cast<double>(blocks_reserved(layout, layout.max_model_len));
  const auto tokens =
      static_cast<std::int64_t>(concurrency * static_cast<double>(layout.max_model_len));
  const std::string capacity = fmt::format("GPU KV cache size: {} tokens", grouped_number(tokens));
  const std::string most = fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x",
                                       grouped_number(layout.max_model_len), concurrency);
  if (release >= kOneCapacityLine) {
    lines.push_back(capacity + ", " + most);
  } else {
    lines.push_back(capacity);
    lines.push_back(most);
  }
  return lines;
}

}  // namespace hybridscope
