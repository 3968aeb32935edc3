// The block ids that a vector lists by request, as block tables of the mamba groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/copy_launch.h"
#include "sessions/conformance/vector_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Block ids of one request: [num_kv_cache_groups][columns].
using RequestBlockIds = std::vector<std::vector<std::int32_t>>;

// One row per request. Its tables stay valid while this object lives.
class RequestBlockTables {
 public:
  // `columns`: the least width of every table; a longer list makes it wider.
  RequestBlockTables(std::span<const RequestBlockIds> block_ids,
                     std::span<const std::int32_t> mamba_group_ids, std::int32_t columns = 0);
  RequestBlockTables(const RequestBlockTables&) = delete;
  RequestBlockTables& operator=(const RequestBlockTables&) = delete;

  // Tables whose rows end with their request's list.
  std::vector<MambaBlockTable> lists() const;
  // Tables whose rows are padded with null blocks.
  std::vector<MambaBlockTable> padded() const;

 private:
  struct Group {
    std::int32_t group = -1;
    VectorTable table;
    std::vector<std::int32_t> num_blocks_per_row;
  };
  std::vector<Group> groups_;
};

}  // namespace hybridscope
