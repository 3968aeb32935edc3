// A field of a metadata class. Each class lists its fields once (for_each_field), for code that
// prints, stores or reads metadata without knowing its kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace hybridscope {

enum class ArrayDtype : std::uint8_t { boolean, int32, int64, host_int, host_bool };

// Which batch rows the first dimension of an array stands for.
enum class ArrayRows : std::uint8_t { none, batch, decodes, prefills, spec, non_spec };

// What the elements of an array are, for readers that explain them without knowing the array.
enum class ArrayElements : std::uint8_t {
  values,           // speaks for itself
  row_starts,       // token offsets: one for each row and the end of the last
  block_ids,        // rows of state that the layers read and write
  block_columns,    // of the block table, one for each row; in a graph cut to the number of tokens
  token_indices,    // one for each token
  accepted_counts,  // one for each row, at least 1
  sequence_lengths,
};

struct MetadataField {
  std::string_view name{};  // in the reference
  ArrayDtype dtype = ArrayDtype::int32;
  ArrayRows rows = ArrayRows::none;
  ArrayElements elements = ArrayElements::values;
  std::int32_t cols = 0;         // of an array that always has as many; 0: as the batch has it
  std::int32_t min = INT32_MIN;  // of a plain number that readers divide by
  // Only some releases have it: it is not listed while it is absent (a plain number: while
  // negative).
  bool listed_if_present = false;
};

// Is a field absent that is listed only while it is present?
template <class T>
constexpr bool is_left_out(const MetadataField& field, const T& value) {
  if (!field.listed_if_present) return false;
  if constexpr (requires { value.present; })
    return !value.present;
  else
    return static_cast<std::int64_t>(value) < 0;
}

}  // namespace hybridscope
