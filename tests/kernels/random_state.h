// Small state memories and what can happen to them, drawn at random: layouts, element sizes,
// padding, groups, and operations of every kind, including ones that no correct engine makes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope::test {

// From `least` to `most`, both included.
using Draw = std::function<std::int32_t(std::int32_t least, std::int32_t most)>;

struct MemoryShape {
  ConvStateLayout layout = ConvStateLayout::SD;
  std::int32_t conv_kernel = 4;  // W
  std::int32_t num_blocks = 4;
  std::vector<std::int32_t> group_layers{1};  // layers of each group
  std::vector<StateTensorSpec> states;
  std::int64_t padding_bytes = 0;
};

// Shapes of conv states as SD and DS have them.
StateTensorSpec conv_spec(ConvStateLayout layout, std::int64_t positions, std::int64_t dim,
                          Dtype dtype);
StateTensorSpec temporal_spec(std::vector<std::int64_t> shape, Dtype dtype);

StateMemory make_memory(const MemoryShape& shape);
StateMemory random_memory(const Draw& draw);

// Up to `num_batches` batches of one to five operations.
StateOps random_ops(const Draw& draw, const StateMemory& memory, std::int32_t num_batches);
// Contents of `count` blocks, of both kinds where the memory has them.
BlockContents random_contents(const Draw& draw, const StateMemory& memory, std::int32_t count);

}  // namespace hybridscope::test
