#include "kernels/content_runs.h"

namespace hybridscope {

std::vector<ContentRun> split_contents(std::span<const BlockContent> contents,
                                       std::int32_t num_blocks) {
  constexpr std::size_t kKinds = 2;
  std::vector<ContentRun> runs;
  // [num_blocks, kinds] the last run that names them; the first is 1.
  std::vector<std::size_t> named_in(static_cast<std::size_t>(num_blocks) * kKinds, 0);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    std::size_t& named = named_in[static_cast<std::size_t>(contents[i].block) * kKinds +
                                  static_cast<std::size_t>(contents[i].kind)];
    if (runs.empty() || named == runs.size())
      runs.push_back({.first = static_cast<std::int32_t>(i), .count = 0});
    ++runs.back().count;
    named = runs.size();
  }
  return runs;
}

}  // namespace hybridscope
