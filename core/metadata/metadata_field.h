// A field of a metadata class. Each class lists its fields once (for_each_field), for code that
// prints, stores or reads metadata without knowing its kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace hybridscope {

enum class ArrayDtype : std::uint8_t { boolean, int32, int64, host_int, host_bool };

// Which batch rows the first dimension of an array stands for.
enum class ArrayRows : std::uint8_t { none, batch, decodes, prefills, spec, non_spec };

struct MetadataField {
  std::string_view name{};  // in the reference
  ArrayDtype dtype = ArrayDtype::int32;
  ArrayRows rows = ArrayRows::none;
};

}  // namespace hybridscope
