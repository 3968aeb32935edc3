#include "sessions/conformance/recognise.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

std::optional<std::string> unknown_member(const VectorKind& kind, const json& config) {
  std::vector<std::string> known = split_words(kind.config_fields);
  std::ranges::copy(split_words(kind.optional_config_fields), std::back_inserter(known));
  for (const auto& [name, value] : config.items())
    if (std::ranges::find(known, name) == known.end()) return name;
  return std::nullopt;
}

// Does `wanted` occur in the text between separators?
bool has_words(std::string_view text, std::string_view wanted) {
  constexpr std::string_view kSeparators = "_-.";
  const auto separates = [&](std::size_t i) {
    return i >= text.size() || kSeparators.find(text[i]) != std::string_view::npos;
  };
  for (std::size_t at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + 1))
    if ((at == 0 || separates(at - 1)) && separates(at + wanted.size())) return true;
  return false;
}

std::string stem_of(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".zst") name = name.stem();
  return name.stem().string();
}

std::optional<Release> release_in(std::string_view stem) {
  for (const std::string_view name : release_names())
    if (has_words(stem, name)) return parse_release(name);
  return std::nullopt;
}

bool has_object(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object.at(key).is_object();
}

bool has_all(const json& object, const std::vector<std::string>& fields) {
  return std::ranges::all_of(fields, [&](const auto& field) { return object.contains(field); });
}

bool fits(const VectorKind& kind, const json& vector) {
  if (!kind.vector_fields.empty())
    return vector.is_object() && has_all(vector, split_words(kind.vector_fields));
  const std::string input_field(kind.input_field);
  if (!has_object(vector, "config") || !vector.contains(input_field)) return false;
  const json& config = vector.at("config");
  if (!has_all(config, split_words(kind.config_fields)) || unknown_member(kind, config))
    return false;
  const json& input = vector.at(input_field);
  if (input_field == "calls") return input.is_array();
  return input.is_object() && has_all(input, split_words(kind.input_fields));
}

bool some_call_has(const VectorKind& kind, std::span<const json> cases) {
  const std::vector<std::string> fields = split_words(kind.input_fields);
  return fields.empty() || std::ranges::any_of(cases, [&](const json& vector) {
           return std::ranges::any_of(vector.at("calls"),
                                      [&](const json& call) { return has_all(call, fields); });
         });
}

bool fits_all(const VectorKind& kind, std::span<const json> cases) {
  return !cases.empty() &&
         std::ranges::all_of(cases, [&](const json& vector) { return fits(kind, vector); }) &&
         (kind.input_field != "calls" || some_call_has(kind, cases));
}

// The kinds that fit and have the most fields.
std::vector<const VectorKind*> fitting_kinds(std::span<const json> cases) {
  std::vector<const VectorKind*> fitting;
  for (const VectorKind& kind : vector_kinds())
    if (fits_all(kind, cases)) fitting.push_back(&kind);
  const auto fields = [](const VectorKind* kind) { return split_words(kind->input_fields).size(); };
  std::size_t most = 0;
  for (const VectorKind* kind : fitting) most = std::max(most, fields(kind));
  std::erase_if(fitting, [&](const VectorKind* kind) { return fields(kind) < most; });
  return fitting;
}

std::string member_names(const json& vector, const char* key) {
  if (!has_object(vector, key)) return "none";
  std::vector<std::string> names;
  for (const auto& [name, value] : vector.at(key).items()) names.push_back(quoted_text(name));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

std::string asked_text(const json& vector) {
  if (vector.is_object() && vector.contains("calls")) return "\"calls\"";
  return fmt::format("\"input\" {}", member_names(vector, "input"));
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const VectorKind& kind : vector_kinds()) names.push_back(kind.name);
  return names;
}

}  // namespace

const VectorKind* recognise_by_name(const std::string& path) {
  const std::string stem = stem_of(path);
  const bool of_a_release = release_in(stem).has_value();
  const VectorKind* longest = nullptr;
  const auto words_of = [](const VectorKind& kind) {
    return kind.is_of_a_release() ? kind.word_before_release : kind.name;
  };
  for (const VectorKind& kind : vector_kinds())
    if (kind.is_of_a_release() == of_a_release && has_words(stem, words_of(kind)) &&
        (longest == nullptr || words_of(kind).size() > words_of(*longest).size()))
      longest = &kind;
  return longest;
}

std::optional<Release> release_of_file(const std::string& path) {
  return release_in(stem_of(path));
}

Result<const VectorKind*> recognise_by_fields(std::span<const json> cases) {
  const std::vector<const VectorKind*> fitting = fitting_kinds(cases);
  if (fitting.size() == 1) return fitting.front();
  if (fitting.size() > 1)
    return Error{ErrorKind::corrupt,
                 fmt::format("its fields fit {} as well as {}; name the file after its kind",
                             fitting[0]->name, fitting[1]->name)};
  return Error{ErrorKind::corrupt,
               fmt::format("unknown kind of vector: its name contains none of {}, and no kind has "
                           "\"config\" {} with {}",
                           fmt::join(kind_names(), ", "),
                           cases.empty() ? "none" : member_names(cases[0], "config"),
                           cases.empty() ? "no \"input\"" : asked_text(cases[0]))};
}

const VectorKind* other_kind_by_fields(const VectorKind& named, std::span<const json> cases) {
  if (fits_all(named, cases)) return nullptr;
  const std::vector<const VectorKind*> fitting = fitting_kinds(cases);
  return fitting.size() == 1 ? fitting.front() : nullptr;
}

VectorCase open_vector(const VectorKind& kind, const json& vector, std::optional<Release> release) {
  const JsonValue top(vector);
  for (const std::string& field : split_words(kind.vector_fields)) static_cast<void>(top[field]);
  const JsonValue config = top["config"];
  static_cast<void>(config.members());
  for (const std::string& field : split_words(kind.config_fields)) static_cast<void>(config[field]);
  if (!kind.vector_fields.empty()) return {.config = config, .input = top};
  const JsonValue input = top[kind.input_field];
  if (kind.input_field == "calls")
    static_cast<void>(input.elements());
  else
    for (const std::string& field : split_words(kind.input_fields)) static_cast<void>(input[field]);
  return {.config = config, .input = input, .release = release};
}

namespace {

// Is the value a field, or an element inside a member "data"?
enum class Place { field, tensor_data };

std::optional<VectorDifference> differ(const std::string& pointer, std::string expected,
                                       std::string got) {
  return VectorDifference{
      .pointer = pointer, .expected = std::move(expected), .got = std::move(got)};
}

// Stricter than the library, which compares -1 and 18446744073709551615 as equal, and 1 and 1.0.
bool equal_values(const json& a, const json& b) {
  if (a.is_number_integer() && b.is_number_integer()) {
    if (a.is_number_unsigned() == b.is_number_unsigned()) return a == b;
    const json& with_sign = a.is_number_unsigned() ? b : a;
    return with_sign.get<std::int64_t>() >= 0 && a == b;
  }
  return a.type() == b.type() && a == b;
}

// Is it an element of a tensor, not a row of elements?
bool is_scalar(const json& value) {
  return value.is_number() || value.is_boolean() || value.is_null();
}

// For errors, only their occurrence has to match. A map may also have a key "error", but not with a
// string value.
bool is_error(const json& object) {
  const auto member = object.find("error");
  return member != object.end() && member->is_string();
}

std::optional<VectorDifference> compare(const json& expected, const json& got,
                                        const std::string& pointer, Place place);

std::optional<VectorDifference> compare_objects(const json& expected, const json& got,
                                                const std::string& pointer, Place place) {
  if (is_error(expected) && is_error(got)) return std::nullopt;
  if (is_error(got)) return differ(pointer, expected.dump(), got.dump());
  for (const auto& [key, value] : expected.items()) {
    const std::string child = child_pointer(pointer, key);
    const auto found = got.find(key);
    if (found == got.end()) return differ(child, value.dump(), "absent");
    const Place inside = key == "data" && value.is_array() ? Place::tensor_data : place;
    if (auto difference = compare(value, *found, child, inside)) return difference;
  }
  for (const auto& [key, value] : got.items())
    if (!expected.contains(key)) return differ(child_pointer(pointer, key), "absent", value.dump());
  return std::nullopt;
}

// A fast path for most elements: needs no JSON pointer.
bool equal_scalars(const json& expected, const json& got, Place place) {
  if (place == Place::tensor_data && expected.is_null()) return is_scalar(got);
  return expected.is_primitive() && equal_values(expected, got);
}

// "2 elements, [1] is 7" or "2 elements, [1] is absent".
std::string size_and_element(const json& array, std::size_t index) {
  return fmt::format("{} element{}, [{}] is {}", array.size(), array.size() == 1 ? "" : "s", index,
                     index < array.size() ? array[index].dump() : "absent");
}

// For arrays of different length: both lengths and the first element that differs.
std::optional<VectorDifference> differ_in_length(const json& expected, const json& got,
                                                 const std::string& pointer, Place place) {
  std::size_t first = 0;
  while (first < expected.size() && first < got.size() &&
         (equal_scalars(expected[first], got[first], place) ||
          !compare(expected[first], got[first], "", place)))
    ++first;
  return differ(pointer, size_and_element(expected, first), size_and_element(got, first));
}

std::optional<VectorDifference> compare_arrays(const json& expected, const json& got,
                                               const std::string& pointer, Place place) {
  if (expected.size() != got.size()) return differ_in_length(expected, got, pointer, place);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (equal_scalars(expected[i], got[i], place)) continue;
    if (auto difference = compare(expected[i], got[i], child_pointer(pointer, i), place))
      return difference;
  }
  return std::nullopt;
}

std::optional<VectorDifference> compare(const json& expected, const json& got,
                                        const std::string& pointer, Place place) {
  if (expected.is_object() && got.is_object())
    return compare_objects(expected, got, pointer, place);
  if (expected.is_array() && got.is_array()) return compare_arrays(expected, got, pointer, place);
  if (equal_values(expected, got)) return std::nullopt;
  return differ(pointer, expected.dump(), got.dump());
}

}  // namespace

std::optional<VectorDifference> first_difference(const json& expected, const json& got) {
  return compare(expected, got, "", Place::field);
}

}  // namespace hybridscope
