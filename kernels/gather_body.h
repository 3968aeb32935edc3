// One block id of the gathered block table (semantics: mamba-get-block-table-tensor).
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/metadata/block_table_gather.h"

namespace hybridscope {

// An item is a row, a lane a column of the window.
struct GatherBody {
  const std::int32_t* block_table = nullptr;  // [rows, stride]
  const std::int32_t* seq_lens = nullptr;     // [rows]
  std::int64_t stride = 0;                    // columns
  ReciprocalDivider block_size{1};
  std::int32_t width = 0;
  std::int32_t* gathered = nullptr;  // [rows, width]

  struct Item {
    const std::int32_t* from = nullptr;
    std::int32_t* to = nullptr;
    std::int64_t num_lanes = 0;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const { to[lane] = from[lane]; }
  };
  std::int64_t most_lanes() const { return width; }
  HS_HOST_DEVICE Item item(std::int64_t row) const {
    return {block_table + row * stride + first_window_column(seq_lens[row], block_size),
            gathered + row * width, width};
  }
};

}  // namespace hybridscope
