#include "cli/matrix_merge.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "sessions/matrix/merge_matrices.h"

namespace hybridscope {
namespace {

// Adds the cells that the file lacks. Error: the file has different ones.
Status add_cells(const MatrixContents& merged, MatrixFile& file) {
  const MatrixContents& there = file.contents();
  for (const auto& [name, cell] : there.cells) {
    const auto found = merged.cells.find(name);
    if (found == merged.cells.end() || !(found->second == cell))
      return invalid_input(fmt::format("{} has another result of cell {} (give another --out)",
                                       file.folder(), name));
  }
  if (!there.faults.empty() && there.cells.size() < merged.cells.size())
    return invalid_input(
        fmt::format("{} has faults of fewer cells already (give another --out)", file.folder()));
  for (const auto& [name, cell] : merged.cells)
    if (!there.cells.contains(name))
      if (Status added = file.add(cell); !added.ok()) return added;
  return Ok{};
}

Result<MergedMatrix> write_merged(const MatrixCommandOptions& options, const MatrixContents& merged,
                                  const std::function<void(const MatrixProgress&)>& progress) {
  MatrixOptions shrink;
  if (!options.no_shrink) {
    auto made = shrink_options_of(merged.header, options);
    if (!made.ok()) return made.error();
    shrink = std::move(made).value();
    shrink.progress = progress;
  }
  auto file = MatrixFile::open(options.folder, merged.header);
  if (!file.ok()) return file.error();
  if (Status added = add_cells(merged, file.value()); !added.ok()) return added.error();
  bool finished = true;
  if (!options.no_shrink) {
    const auto shrunk = shrink_faults(shrink, file.value());
    if (!shrunk.ok()) return shrunk.error();
    finished = shrunk.value();
  }
  return MergedMatrix{
      .contents = file.value().contents(), .folder = options.folder, .interrupted = !finished};
}

}  // namespace

Result<MergedMatrix> merge_folders(const MatrixCommandOptions& options,
                                   const std::function<void(const MatrixProgress&)>& progress) {
  std::vector<MatrixSource> sources;
  for (const std::string& folder : options.merge) {
    auto contents = read_matrix(folder);
    if (!contents.ok()) return contents.error();
    sources.push_back({folder, std::move(contents).value()});
  }
  auto merged = merge_matrices(sources);
  if (!merged.ok()) return merged.error();
  if (options.folder.empty())
    return MergedMatrix{.contents = std::move(merged).value(), .folder = ""};
  return write_merged(options, merged.value(), progress);
}

}  // namespace hybridscope
