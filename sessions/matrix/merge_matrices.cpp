#include "sessions/matrix/merge_matrices.h"

#include <fmt/core.h>

#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "sessions/matrix/shrink_fault.h"

namespace hybridscope {
namespace {

// One without a file is larger than any other.
bool is_smaller(const MatrixFault& a, const MatrixFault& b) {
  return std::tuple(a.file.empty(), a.num_requests, a.num_steps) <
         std::tuple(b.file.empty(), b.num_requests, b.num_steps);
}

Status add_cells(const MatrixSource& source, MatrixContents& merged) {
  for (const auto& [name, cell] : source.contents.cells)
    if (!(merged.cells.try_emplace(name, cell).first->second == cell))
      return invalid_input(fmt::format(
          "{}: cell {} has another result than in the folders before it", source.folder, name));
  return Ok{};
}

void add_faults(const MatrixSource& source, MatrixContents& merged) {
  for (const auto& [key, fault] : source.contents.faults) {
    const auto [known, fresh] = merged.faults.try_emplace(key);
    if (!fresh && !is_smaller(fault, known->second)) continue;
    known->second = fault;
    if (!fault.file.empty())
      known->second.file = (std::filesystem::path(source.folder) / fault.file).string();
  }
}

void drop_accidents(MatrixContents& merged) {
  std::set<std::string> keys;
  for (const FaultCandidates& fault : collect_faults(merged)) keys.insert(fault.key);
  std::erase_if(merged.faults, [&](const auto& fault) { return !keys.contains(fault.first); });
}

}  // namespace

Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources) {
  MatrixContents merged;
  merged.header = sources.front().contents.header;
  merged.header.shard = "1/1";
  for (const MatrixSource& source : sources) {
    const MatrixHeader& header = source.contents.header;
    if (const auto difference = header_difference(merged.header, header))
      return invalid_input(fmt::format("{} and {} do not belong together: {} is {} and {}",
                                       sources.front().folder, source.folder, difference->what,
                                       difference->a, difference->b));
    if (merged.header.filter != header.filter) merged.header.filter.clear();
    if (Status added = add_cells(source, merged); !added.ok()) return added.error();
    add_faults(source, merged);
  }
  drop_accidents(merged);
  return merged;
}

}  // namespace hybridscope
