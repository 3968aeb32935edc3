#include "sessions/conformance/request_block_tables.h"

#include <algorithm>
#include <cstddef>

#include "core/base/ids.h"

namespace hybridscope {

RequestBlockTables::RequestBlockTables(std::span<const RequestBlockIds> block_ids,
                                       std::span<const std::int32_t> mamba_group_ids,
                                       std::int32_t columns) {
  static const std::vector<std::int32_t> kNoBlocks;
  for (const std::int32_t group : mamba_group_ids) {
    const auto ids_of = [group](const RequestBlockIds& lists) -> const std::vector<std::int32_t>& {
      return static_cast<std::size_t>(group) < lists.size() ? lists[static_cast<std::size_t>(group)]
                                                            : kNoBlocks;
    };
    Group made{.group = group, .table = {}, .num_blocks_per_row = {}};
    made.table.rows = static_cast<std::int32_t>(block_ids.size());
    made.table.cols = columns;
    for (const RequestBlockIds& lists : block_ids)
      made.table.cols = std::max(made.table.cols, static_cast<std::int32_t>(ids_of(lists).size()));
    for (const RequestBlockIds& lists : block_ids) {
      const std::vector<std::int32_t>& ids = ids_of(lists);
      made.num_blocks_per_row.push_back(static_cast<std::int32_t>(ids.size()));
      made.table.data.insert(made.table.data.end(), ids.begin(), ids.end());
      made.table.data.resize(
          made.num_blocks_per_row.size() * static_cast<std::size_t>(made.table.cols), kNullBlock);
    }
    groups_.push_back(std::move(made));
  }
}

std::vector<MambaBlockTable> RequestBlockTables::lists() const {
  std::vector<MambaBlockTable> tables = padded();
  for (std::size_t i = 0; i < tables.size(); ++i)
    tables[i].num_blocks_per_row = groups_[i].num_blocks_per_row;
  return tables;
}

std::vector<MambaBlockTable> RequestBlockTables::padded() const {
  std::vector<MambaBlockTable> tables;
  for (const Group& group : groups_)
    tables.push_back({.group = group.group, .ids = group.table.view(), .num_blocks_per_row = {}});
  return tables;
}

}  // namespace hybridscope
