// Reads one value of a test vector. Whatever is not there, of another type or of another shape ends
// the case with a VectorError that names the place; the loop over cases catches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridscope {

// The vector itself is wrong: not what the reference answers.
class VectorError : public std::exception {
 public:
  // `pointer` as in RFC 6901, from the vector's top: "/input/seq_lens/3".
  VectorError(std::string pointer, std::string message);
  const char* what() const noexcept override { return text_.c_str(); }
  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
  std::string text_;  // "POINTER: MESSAGE"
};

// A table with equally long rows, row by row.
struct VectorTable {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int32_t> data;  // [rows, cols]
};

// One value and where it stands. Cheap to copy; the document outlives it.
class VectorValue {
 public:
  VectorValue(const nlohmann::json& json, std::string pointer)
      : json_(&json), pointer_(std::move(pointer)) {}

  // Throws when there is no such member.
  VectorValue operator[](std::string_view key) const;
  // Throws when the array is shorter.
  VectorValue operator[](std::size_t index) const;
  // Is the member there, and not null?
  bool has(std::string_view key) const;
  // The member, empty when absent or null.
  std::optional<VectorValue> find(std::string_view key) const;
  bool is_null() const;

  std::int32_t int32() const;
  // Throws outside [min, max].
  std::int32_t int32_in(std::int32_t min, std::int32_t max) const;
  std::int64_t int64() const;
  double number() const;
  bool boolean() const;
  std::string string() const;
  // One of the names; answers its index. Throws with the list.
  std::size_t one_of(std::initializer_list<std::string_view> names) const;

  // Array of numbers; with `length` >= 0 of exactly that many.
  std::vector<std::int32_t> int32s(std::int64_t length = -1) const;
  std::vector<std::int64_t> int64s(std::int64_t length = -1) const;
  std::vector<std::string> strings() const;
  // Array of equally long arrays of numbers. `shape`, when there is one: [rows, cols] it must have
  // (an empty table does not tell its columns).
  VectorTable table() const;
  VectorTable table(const VectorValue& shape) const;

  // Elements of an array.
  std::vector<VectorValue> elements() const;
  // Members of an object in ascending order of keys.
  std::vector<std::pair<std::string, VectorValue>> members() const;
  std::size_t size() const;

  [[noreturn]] void fail(const std::string& message) const;
  const nlohmann::json& json() const { return *json_; }
  const std::string& pointer() const { return pointer_; }

 private:
  const nlohmann::json* json_;
  std::string pointer_;
};

}  // namespace hybridscope
