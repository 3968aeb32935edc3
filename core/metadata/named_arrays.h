// Any builder's metadata as a list of named integer arrays: what panels, JSON, storage and tests
// read, so that they need not know the builders.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/metadata/builder_metadata.h"
#include "core/metadata/metadata_field.h"

namespace hybridscope {

struct NamedArray {
  std::string_view name;  // field name of the reference; "nums_dict.8.tot" for a nested one
  bool present = true;    // false: None
  ArrayDtype dtype = ArrayDtype::int32;  // host_int, host_bool: a plain number, without dims
  std::vector<std::int64_t> dims{};
  std::vector<std::int64_t> values{};  // row-major; where it is shorter than dims say, the rest is
  std::int64_t fill = 0;               // `fill` (batch_ptr, token_chunk_offset_ptr: -1)
  ArrayRows rows = ArrayRows::none;
  ArrayElements elements = ArrayElements::values;
};

// Fields in the order of the reference's metadata class.
std::vector<NamedArray> named_arrays(const BuilderMetadata& metadata);

}  // namespace hybridscope
