#include "sessions/palette/palette_words.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

constexpr ColourWords kWords[] = {
    {"light blue", "running: read or written by the step's forward pass; decode rows"},
    {"purple, hatched", "speculative: states of drafts; verify rows"},
    {"green, dotted", "cached: registered, so that others can hit it"},
    {"orange, gridded", "shared by several requests"},
    {"dark blue, base line", "held: the request's own"},
    {"grey, crossed", "the null block"},
    {"background, outlined", "free"},
    {"red, hatched backwards", "stale: the worker has another block here"},
    {"pale grey, striped", "padding"},
    {"bright blue", "prefill rows"},
    {"pink", "copies of states and blocks"},
    {"teal", "copies of conv windows"},
    {"olive", "evictions"},
    {"brown", "preemptions"},
    {"green text", "fine: what was checked holds"},
    {"yellow text", "a warning"},
    {"red text", "an error: a finding, or what is wrong"},
    {"yellow corner", "changed in this step"},
};

}  // namespace

std::span<const ColourWords> palette_words() { return kWords; }

std::string palette_markdown() {
  std::string table = "| colour | means |\n|---|---|\n";
  for (const ColourWords& row : kWords)
    table += fmt::format("| {} | {} |\n", row.colour, row.means);
  return table;
}

}  // namespace hybridscope
