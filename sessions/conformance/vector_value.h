// Reads one value of a test vector. A value that is missing or has another type or shape ends the
// case with a VectorError that names its place; the loop over cases catches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/tensor_view.h"

namespace hybridscope {

// The most elements that one case may ask to allocate: sizes in a vector are not trusted.
inline constexpr std::int64_t kMaxVectorElements = std::int64_t{1} << 21;

// The vector itself is invalid; this is not an answer of the reference.
class VectorError : public std::exception {
 public:
  // `pointer` as in RFC 6901, from the root of the vector: "/input/seq_lens/3".
  VectorError(std::string pointer, std::string message);
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
  std::string message_;  // "expected an integer, found null"
};

// A table whose rows have equal length, stored row by row.
struct VectorTable {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int32_t> data;  // [rows, cols]

  TensorView<std::int32_t> view() const { return matrix_view(data.data(), rows, cols); }
};

// One value and its place. Cheap to copy; the document must outlive it.
class VectorValue {
 public:
  VectorValue(const nlohmann::json& json, std::string pointer)
      : json_(&json), pointer_(std::move(pointer)) {}

  // Throws when there is no such member.
  VectorValue operator[](std::string_view key) const;
  // Throws when the array is shorter.
  VectorValue operator[](std::size_t index) const;
  // Is the member there, and not null?
  bool has(std::string_view key) const { return find(key).has_value(); }
  // The member; empty when it is absent or null. Throws when this is not an object.
  std::optional<VectorValue> find(std::string_view key) const;
  bool is_null() const { return json_->is_null(); }

  std::int32_t int32() const;
  // Throws outside [min, max].
  std::int32_t int32_in(std::int32_t min, std::int32_t max) const;
  std::int64_t int64() const;
  // Throws outside [min, max].
  std::int64_t int64_in(std::int64_t min, std::int64_t max) const;
  double number() const;
  bool boolean() const;
  std::string string() const;
  // Returns the index of the name. Throws with the list when it is none of them.
  std::size_t one_of(std::initializer_list<std::string_view> names) const;

  // An array of integers. A non-negative `length` is the required length.
  std::vector<std::int32_t> int32s(std::int64_t length = -1) const;
  std::vector<std::int64_t> int64s(std::int64_t length = -1) const;
  std::vector<std::string> strings() const;
  // An array of equally long arrays of integers. `shape`, if present, is the required [rows, cols]
  // (an empty table does not show its columns).
  VectorTable table() const;
  VectorTable table(const VectorValue& shape) const;

  // Elements of an array.
  std::vector<VectorValue> elements() const;
  // Members of an object in ascending order of keys.
  std::vector<std::pair<std::string, VectorValue>> members() const;
  // The number of elements of an array or an object.
  std::size_t size() const;

  [[noreturn]] void fail(const std::string& message) const;
  const nlohmann::json& json() const { return *json_; }
  const std::string& pointer() const { return pointer_; }

 private:
  [[noreturn]] void expected(std::string_view what) const;

  const nlohmann::json* json_;
  std::string pointer_;
};

}  // namespace hybridscope
