#include "sessions/matrix/matrix_header.h"

#include <span>

namespace hybridscope {
namespace {

std::string shown(const std::string& text) { return text.empty() ? "none" : text; }

std::optional<HeaderDifference> first_difference(std::span<const HeaderDifference> all) {
  for (const HeaderDifference& one : all)
    if (one.a != one.b) return HeaderDifference{one.what, shown(one.a), shown(one.b)};
  return std::nullopt;
}

}  // namespace

std::optional<HeaderDifference> header_difference(const MatrixHeader& a, const MatrixHeader& b) {
  const HeaderDifference all[] = {
      {"engine", a.engine, b.engine},
      {"policies", a.policies, b.policies},
      {"seed", std::to_string(a.seed), std::to_string(b.seed)},
      {"scenarios a cell", std::to_string(a.scenarios_per_cell),
       std::to_string(b.scenarios_per_cell)},
      {"state in bytes", a.in_bytes ? "yes" : "no", b.in_bytes ? "yes" : "no"},
      {"version of hybridscope", a.program, b.program},
      {"generator of scenarios", a.generator, b.generator},
  };
  return first_difference(all);
}

std::optional<HeaderDifference> whole_header_difference(const MatrixHeader& a,
                                                        const MatrixHeader& b) {
  if (const auto difference = header_difference(a, b)) return difference;
  const HeaderDifference cells[] = {{"cells (--only)", a.filter, b.filter},
                                    {"shard", a.shard, b.shard}};
  return first_difference(cells);
}

}  // namespace hybridscope
