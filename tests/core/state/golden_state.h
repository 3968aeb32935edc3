// Builds states, memory and request ids from the golden files of state copies (FORMAT.md 10-14).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/tensor_view.h"
#include "core/state/align_preprocess.h"
#include "core/state/fused_state_copy.h"
#include "core/state/state_layout.h"
#include "core/state/state_tensor.h"
#include "tests/support/golden.h"

namespace hybridscope::test {

// `config` with layout, block_size, mamba_groups and memory; a fault of ctx_init is injected.
MambaStateTensors state_tensors(const Json& config);

// ctx: the flattened metadata in the words of FORMAT.md.
Json layout_json(const StateLayout& layout);

std::vector<std::int32_t> ints(const Json& array);

// One table per mamba group, and views of them.
struct GoldenBlockTables {
  explicit GoldenBlockTables(const Json& block_tables);
  std::vector<std::vector<std::int32_t>> data;  // by group, row-major
  std::vector<TensorView<std::int32_t>> views;
};

// [row, state, src, dst, row bytes, rows, row stride] per copy.
Json copies_json(std::span<const RowStateCopy> copies);

// Request names of a file as ids, and back.
class RequestNames {
 public:
  RequestId id(const std::string& name);
  std::vector<RequestId> ids(const Json& names);
  Json state_idx_json(const MambaStateIdx& mamba_state_idx) const;
  MambaStateIdx state_idx(const Json& object);

 private:
  std::map<std::string, RequestId> ids_;
  std::vector<std::string> names_;
};

// The values of a map by request, in the order of `names`; absent ones are `missing`.
std::vector<std::int32_t> by_name(const Json& names, const Json& values, std::int32_t missing = 0);

// Raw byte buffers with the start pattern of FORMAT.md's memory model.
class GoldenMemory {
 public:
  explicit GoldenMemory(const Json& memory);
  std::vector<std::span<std::byte>> states();  // by flat state index
  Json raw_crc32() const;

  // From element 0 on, by layer and state.
  std::span<const std::byte> state(std::size_t layer, std::size_t state) const;

 private:
  struct Place {
    std::size_t raw = 0;
    std::size_t byte_offset = 0;
  };
  std::vector<std::vector<Place>> places_;  // [layer][state]
  std::vector<std::vector<std::byte>> raw_;
};

// zlib's crc32 of `bytes`.
std::uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace hybridscope::test
