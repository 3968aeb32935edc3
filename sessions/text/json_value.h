// Typed reading of JSON that nlohmann-json (documents) or simdjson (lines of traces) has parsed.
// What is missing, of another type or out of range ends the reading with a JsonFault that names its
// place; read_json() turns it into an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/shown_text.h"

namespace simdjson::dom {
class element;
}

namespace hybridscope {

struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
inline constexpr IntegerRange kAnyInt32{.min = INT32_MIN, .max = INT32_MAX};
inline constexpr IntegerRange kAnyInt64{.min = INT64_MIN, .max = INT64_MAX};

// What is wrong with a document, and where.
class JsonFault : public std::exception {
 public:
  // `pointer` as in RFC 6901, from the root of the document: "/input/seq_lens/3".
  JsonFault(std::string pointer, std::string message)
      : pointer_(std::move(pointer)), message_(std::move(message)) {}

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& pointer() const { return pointer_; }
  // "FILE: POINTER: MESSAGE", in one line.
  Error error(std::string_view file, ErrorKind kind = ErrorKind::invalid_input) const;

 private:
  std::string pointer_;
  std::string message_;  // "expected an integer, found null"
};

template <class T>
struct JsonAnswer {
  using Type = Result<T>;
};
template <>
struct JsonAnswer<void> {
  using Type = Status;
};
template <class T>
struct JsonAnswer<Result<T>> {
  using Type = Result<T>;
};

// Calls read(), which returns a value, a Result or nothing. A JsonFault that it throws becomes an
// Error with the name of the file.
template <class Read>
auto read_json(std::string_view file, Read read, ErrorKind kind = ErrorKind::invalid_input) ->
    typename JsonAnswer<decltype(read())>::Type {
  try {
    if constexpr (std::is_void_v<decltype(read())>) {
      read();
      return Ok{};
    } else {
      return read();
    }
  } catch (const JsonFault& fault) {
    return fault.error(file, kind);
  }
}

// Calls read(), which reads what stands at `pointer` of another document: faults name the place in
// that one.
template <class Read>
decltype(auto) read_json_at(const std::string& pointer, Read read) {
  try {
    return read();
  } catch (const JsonFault& fault) {
    throw JsonFault(pointer + fault.pointer(), fault.what());
  }
}

struct JsonMember;

// One value of a parsed document, which must outlive it. Cheap to copy: its place is looked for
// only when it is asked for.
class JsonValue {
 public:
  explicit JsonValue(const nlohmann::json& document);
  static JsonValue of_line(const simdjson::dom::element& line);

  bool is_null() const;
  bool is_boolean() const;
  bool is_integer() const;  // 8.0 is none
  bool is_number() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  // The member; empty when it is absent or this is not an object. Of two in a line that have the
  // same key, the first one counts.
  std::optional<JsonValue> find(std::string_view key) const;
  // The member; empty when it is absent or null. Fails when this is not an object.
  std::optional<JsonValue> find_non_null(std::string_view key) const;
  bool has_non_null(std::string_view key) const { return find_non_null(key).has_value(); }
  // Fails when there is no such member: "key "id" is missing".
  JsonValue require(std::string_view key) const;
  // The member; fails in the words of a vector when there is none: "no member "id"".
  JsonValue operator[](std::string_view key) const;
  // Fails when the array is shorter.
  JsonValue operator[](std::size_t index) const;
  // Fails for a member that is none of these, with the most similar of them if there is one.
  void check_keys(const std::vector<std::string_view>& known_keys) const;

  // The elements of an array.
  std::vector<JsonValue> elements() const;
  // The members of an object: those of a document by key, those of a line as they stand there.
  std::vector<JsonMember> members() const;
  // Call visit(element), visit(key, value) in the order of elements() and members(), without a
  // list.
  template <class Visit>
  void each_element(Visit visit) const {
    visit_elements([](void* to, const JsonValue& value) { (*static_cast<Visit*>(to))(value); },
                   &visit);
  }
  template <class Visit>
  void each_member(Visit visit) const {
    visit_members([](void* to, std::string_view key,
                     const JsonValue& value) { (*static_cast<Visit*>(to))(key, value); },
                  &visit);
  }
  // How many elements an array has, or members an object.
  std::size_t size() const;

  // A whole number of at most 63 bits, if it is one. As in JSON Schema, 8.0 is one, but not in a
  // line.
  std::optional<std::int64_t> whole() const;
  // Fail outside of the range, which lies within the type.
  std::int32_t int32(const IntegerRange& range = kAnyInt32) const;
  std::int64_t int64(const IntegerRange& range = kAnyInt64) const;
  std::uint64_t uint64() const;
  double number() const;
  double number(double min, double max) const;
  bool boolean() const;
  std::string_view text() const;
  std::string string() const { return std::string(text()); }
  // A name that is safe in messages and file names: 1 to 64 bytes without control characters.
  std::string name() const;
  // A text with at least one byte.
  std::string words() const;
  // The index of the string among the names.
  std::size_t choice(std::span<const std::string_view> names) const;
  // The index of the string among the names; fails in the words of a vector.
  std::size_t one_of(std::initializer_list<std::string_view> names) const;

  // The member, if it is there.
  std::optional<std::int32_t> int32_at(std::string_view key, const IntegerRange& range) const;
  std::optional<std::int64_t> int64_at(std::string_view key, const IntegerRange& range) const;
  std::optional<bool> boolean_at(std::string_view key) const;
  std::optional<std::string> string_at(std::string_view key) const;

  // Arrays. A non-negative `length` is the required one.
  std::vector<std::int32_t> int32s(std::int64_t length = -1) const;
  std::vector<std::int64_t> int64s(std::int64_t length = -1) const;
  std::vector<std::string> strings() const;
  void append_int32s(const IntegerRange& range, std::vector<std::int32_t>& out) const;
  // Fast, for lines. False: this is not such an array, and nothing was appended.
  bool try_append_int32s(const IntegerRange& range, std::vector<std::int32_t>& out) const;

  [[noreturn]] void fail(const std::string& message) const;
  // At the place of a member, which may be absent.
  [[noreturn]] void fail_at(std::string_view key, const std::string& message) const;
  // "expected WHAT, found VALUE".
  [[noreturn]] void expected(std::string_view what) const;

  // "\"text\"", "null", "-5", "an array of 3": for messages.
  std::string describe() const;
  // In one line.
  std::string dump() const;
  // As in RFC 6901, from the root of the document: "" is the document, "/requests/0" an element.
  std::string pointer() const;
  // Requires: nlohmann-json has parsed it.
  const nlohmann::json& json() const { return *json_; }

 private:
  JsonValue(const void* document, const nlohmann::json* json, std::size_t tape_index)
      : document_(document), json_(json), tape_index_(tape_index) {}
  JsonValue with(const nlohmann::json& json) const { return {document_, &json, 0}; }
  simdjson::dom::element element() const;
  void visit_elements(void (*visit)(void*, const JsonValue&), void* to) const;
  void visit_members(void (*visit)(void*, std::string_view, const JsonValue&), void* to) const;
  template <class T>
  std::vector<T> integers(const IntegerRange& range, std::int64_t length) const;

  const void* document_;        // nlohmann-json's root, or simdjson's document
  const nlohmann::json* json_;  // null: simdjson has parsed it
  std::size_t tape_index_;      // in simdjson's document
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// The pointer of a member: escapes ~ and / as RFC 6901 says.
std::string child_pointer(const std::string& pointer, std::string_view key);
std::string child_pointer(const std::string& pointer, std::size_t index);

}  // namespace hybridscope
