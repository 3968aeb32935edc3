// The block-table gather of the Mamba builders on a CUDA device (core/metadata/block_table_gather).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/block_table_gather.h"
#include "kernels/cuda/launch_order.h"

namespace hybridscope {

// The gathered tensor, [rows, width] row-major: the rows of the window that find_block_table_window
// finds, in align mode one thread a block id. Arrays go to the device and back. Errors: those of
// find_block_table_window, found before anything runs; no usable device, the device's.
Result<std::vector<std::int32_t>> gather_block_table_cuda(const BlockTableGatherInput& input,
                                                          std::int32_t device,
                                                          const LaunchOrder& order = {});

}  // namespace hybridscope
