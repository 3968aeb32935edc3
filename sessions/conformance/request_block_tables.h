// Block ids that a vector lists by request, as the tables of the mamba groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/collect_copies.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

// Block ids of one request: [num_kv_cache_groups][columns].
using RequestBlockIds = std::vector<std::vector<std::int32_t>>;

// One row a request. Tables of it stay valid as long as it lives.
class RequestBlockTables {
 public:
  // `columns`: of every table, at least; a longer list makes them wider.
  RequestBlockTables(std::span<const RequestBlockIds> block_ids,
                     std::span<const std::int32_t> mamba_group_ids, std::int32_t columns = 0);
  RequestBlockTables(const RequestBlockTables&) = delete;
  RequestBlockTables& operator=(const RequestBlockTables&) = delete;

  // Each row ends where its request's list does.
  std::vector<MambaBlockTable> lists() const;
  // Behind a request's list its row has null blocks.
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
