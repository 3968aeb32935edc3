#include "sessions/conformance/recognise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "sessions/object_reader.h"

namespace hybridscope {
namespace {

using nlohmann::json;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

bool has_object(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object.at(key).is_object();
}

bool has_all(const json& object, const std::vector<std::string>& fields) {
  return std::ranges::all_of(fields, [&](const auto& field) { return object.contains(field); });
}

bool fits(const VectorKind& kind, const json& vector) {
  const std::vector<std::string> config = words(kind.config_fields);
  const std::string input_field(kind.input_field);
  if (!has_object(vector, "config") || !vector.contains(input_field)) return false;
  if (vector.at("config").size() != config.size() || !has_all(vector.at("config"), config))
    return false;
  const json& input = vector.at(input_field);
  if (input_field == "calls") return input.is_array();
  return input.is_object() && has_all(input, words(kind.input_fields));
}

bool some_call_has(const VectorKind& kind, std::span<const json> cases) {
  const std::vector<std::string> fields = words(kind.input_fields);
  return fields.empty() || std::ranges::any_of(cases, [&](const json& vector) {
           return std::ranges::any_of(vector.at("calls"),
                                      [&](const json& call) { return has_all(call, fields); });
         });
}

std::string member_names(const json& vector, const char* key) {
  if (!has_object(vector, key)) return "none";
  std::vector<std::string> names;
  for (const auto& [name, value] : vector.at(key).items()) names.push_back(quoted_text(name));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

}  // namespace

const VectorKind* vector_kind(std::string_view name) {
  const auto kinds = vector_kinds();
  const auto found = std::ranges::find(kinds, name, &VectorKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

const VectorKind* recognise_by_name(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const VectorKind* longest = nullptr;
  for (const VectorKind& kind : vector_kinds())
    if (stem.find(kind.name) != std::string::npos &&
        (longest == nullptr || kind.name.size() > longest->name.size()))
      longest = &kind;
  return longest;
}

Result<const VectorKind*> recognise_by_fields(std::span<const json> cases) {
  std::vector<const VectorKind*> fitting;
  for (const VectorKind& kind : vector_kinds())
    if (!cases.empty() &&
        std::ranges::all_of(cases, [&](const json& vector) { return fits(kind, vector); }) &&
        (kind.input_field == "input" || some_call_has(kind, cases)))
      fitting.push_back(&kind);
  // Those with as many fields as any other fitting one.
  const auto fields = [](const VectorKind* kind) { return words(kind->input_fields).size(); };
  std::size_t most = 0;
  for (const VectorKind* kind : fitting) most = std::max(most, fields(kind));
  std::erase_if(fitting, [&](const VectorKind* kind) { return fields(kind) < most; });
  if (fitting.size() == 1) return fitting.front();
  if (fitting.size() > 1)
    return Error{ErrorKind::corrupt, fmt::format("its fields fit {} as well as {}; name the file "
                                                 "after its kind",
                                                 fitting[0]->name, fitting[1]->name)};
  std::vector<std::string_view> names;
  for (const VectorKind& kind : vector_kinds()) names.push_back(kind.name);
  return Error{
      ErrorKind::corrupt,
      fmt::format(
          "unknown kind of vector: its name contains none of {}, and no kind has \"config\" "
          "{} with \"input\" {}",
          fmt::join(names, ", "), cases.empty() ? "none" : member_names(cases[0], "config"),
          cases.empty() ? "none" : member_names(cases[0], "input"))};
}

VectorCase open_vector(const VectorKind& kind, const json& vector) {
  const VectorValue top(vector, "");
  const VectorValue config = top["config"];
  for (const std::string& field : words(kind.config_fields)) static_cast<void>(config[field]);
  const VectorValue input = top[kind.input_field];
  if (kind.input_field == "calls")
    static_cast<void>(input.elements());
  else
    for (const std::string& field : words(kind.input_fields)) static_cast<void>(input[field]);
  static_cast<void>(config.members());
  return {.config = config, .input = input};
}

}  // namespace hybridscope
