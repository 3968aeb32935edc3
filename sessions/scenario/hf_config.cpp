#include "sessions/scenario/hf_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/model/model_layout.h"
#include "core/model/model_presets.h"
#include "core/model/state_shape.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{16} << 20;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The dtype in which the engine runs a checkpoint: the checkpoint's own, but half precision for
// float32 (vLLM's rule for dtype "auto") and for a file without a dtype.
std::string model_dtype(const HfConfigReader& reader) {
  const char* key = reader.has("dtype") ? "dtype" : "torch_dtype";
  if (!reader.has(key)) return "bfloat16";
  const std::string name = reader.text(key);
  const auto dtype = parse_dtype(name);
  if (!dtype) reader.fail_key(key, "float16, bfloat16 or float32");
  return dtype.value() == Dtype::float32 ? "bfloat16" : std::string(dtype_name(dtype.value()));
}

const HfFamily& find_family(const HfConfigReader& reader) {
  if (!reader.has("architectures"))
    for (const HfFamily& family : hf_families())
      if (reader.is_text("model_type", family.model_type)) return family;
  const std::vector<std::string> architectures = reader.texts("architectures");
  for (const HfFamily& family : hf_families())
    if (!architectures.empty() && architectures.front() == family.architecture) return family;
  reader.fail_key("architectures", "one of the known: " + listed(known_hf_architectures()));
}

ModelSpec read_model(const HfConfigReader& reader, const std::string& file) {
  const HfFamily& family = find_family(reader);
  ModelSpec model{.name = file,
                  .source = file + " (" + family.architecture + ")",
                  .dtype = model_dtype(reader)};
  family.read(reader, model);
  // Keys that are present must be valid, even if the family does not need them.
  for (const char* key : {"hidden_size", "num_attention_heads", "head_dim"})
    reader.count_or(key, 1);
  return model;
}

}  // namespace

std::vector<std::string> known_hf_architectures() {
  std::vector<std::string> names;
  for (const HfFamily& family : hf_families()) names.emplace_back(family.architecture);
  return names;
}

Result<ModelSpec> parse_hf_config(const HfConfigText& config) {
  const std::string file(config.file);
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(config.text);
  } catch (const nlohmann::json::exception& exception) {
    return Error{ErrorKind::corrupt, file + ": not a JSON text: " + exception.what()};
  }
  if (!root.is_object())
    return Error{ErrorKind::corrupt,
                 file + ": found " + std::string(root.type_name()) + ", expected a JSON object"};
  auto model = read_json(file, [&] { return read_model(HfConfigReader(JsonValue(root)), file); });
  if (!model) return model;
  if (const Status status = check_model(model.value()); !status) return status.error();
  return model;
}

Result<ModelSpec> load_hf_config(const std::string& path) {
  if (Status file = check_no_directory(path); !file.ok()) return file.error();
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code) return Error{ErrorKind::io, path + ": cannot be read: " + code.message()};
  if (size > kMaxFileBytes)
    return Error{ErrorKind::io, path + ": has " + std::to_string(size) +
                                    " bytes, more than a config.json can have (" +
                                    std::to_string(kMaxFileBytes) + ")"};
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  if (!stream.is_open() || stream.bad()) return Error{ErrorKind::io, path + ": cannot be read"};
  return parse_hf_config({.text = text, .file = path});
}

Result<ModelSpec> resolve_model(const std::string& name_or_path) {
  const auto names = model_preset_names();
  if (std::find(names.begin(), names.end(), name_or_path) != names.end())
    return model_preset(name_or_path);
  std::error_code code;
  if (std::filesystem::is_directory(name_or_path, code))
    return load_hf_config((std::filesystem::path(name_or_path) / "config.json").string());
  const bool path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json");
  if (path) return load_hf_config(name_or_path);
  return Error{ErrorKind::not_found, "no model preset is called \"" + name_or_path +
                                         "\"; known: " + listed(names) +
                                         ", or the path of a Hugging Face config.json"};
}

namespace {

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kCountText = "a whole number from 1 to 2147483647";

// JSON numbers beyond 64 bits are parsed as floating point and refused as such.
bool is_count(const JsonValue& value, std::int64_t least) {
  const std::optional<std::int64_t> number = value.is_integer() ? value.whole() : std::nullopt;
  return number && *number >= least && *number <= kMaxNumber;
}

bool is_finite(const JsonValue& value) {
  return value.is_number() && std::isfinite(value.number());
}

// Are these elements of an array?
template <class Is>
bool are_all(const std::optional<JsonValue>& array, Is is) {
  if (!array || !array->is_array()) return false;
  for (const JsonValue& element : array->elements())
    if (!is(element)) return false;
  return true;
}

std::string shown(const JsonValue& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = value.json().dump(-1, ' ', true);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace

bool HfConfigReader::has(std::string_view key) const {
  const auto found = object_.find(key);
  return found && !found->is_null();
}

bool HfConfigReader::is_text(std::string_view key, std::string_view text) const {
  const auto found = object_.find(key);
  return found && found->is_string() && found->text() == text;
}

bool HfConfigReader::is_number(std::string_view key, std::int64_t number) const {
  const auto found = object_.find(key);
  return found && found->is_integer() && found->whole() == number;
}

void HfConfigReader::fail(const std::string& message) const {
  throw JsonFault("", path_ + message);
}

void HfConfigReader::fail_key(std::string_view key, std::string_view expected) const {
  const auto found = object_.find(key);
  const std::string what = found ? ": found " + shown(*found) : " is missing";
  fail("key \"" + std::string(key) + "\"" + what + ", expected " + std::string(expected));
}

std::int64_t HfConfigReader::count(std::string_view key) const {
  const auto value = object_.find(key);
  if (!value || !is_count(*value, 1)) fail_key(key, kCountText);
  return value->int64();
}

std::int64_t HfConfigReader::count_or(std::string_view key, std::int64_t absent) const {
  return has(key) ? count(key) : absent;
}

bool HfConfigReader::flag_or(std::string_view key, bool absent) const {
  if (!has(key)) return absent;
  const auto value = object_.find(key);
  if (!value->is_boolean()) fail_key(key, "true or false");
  return value->boolean();
}

double HfConfigReader::real_or(std::string_view key, double absent) const {
  if (!has(key)) return absent;
  const auto value = object_.find(key);
  if (!is_finite(*value)) fail_key(key, "a number");
  return value->number();
}

std::int64_t HfConfigReader::count_of_any(std::initializer_list<std::string_view> keys) const {
  std::string names;
  for (const std::string_view key : keys) {
    if (has(key)) return count(key);
    names += (names.empty() ? "\"" : "\" or \"") + std::string(key);
  }
  fail("key " + names + "\" is missing, expected " + std::string(kCountText));
}

std::string HfConfigReader::text(std::string_view key) const {
  const auto value = object_.find(key);
  if (!value || !value->is_string()) fail_key(key, "a string");
  return value->string();
}

std::vector<std::string> HfConfigReader::texts(std::string_view key) const {
  const auto list = object_.find(key);
  if (!are_all(list, [](const JsonValue& text) { return text.is_string(); }))
    fail_key(key, "a list of strings");
  return list->strings();
}

std::vector<std::int64_t> HfConfigReader::numbers(std::string_view key) const {
  const auto list = object_.find(key);
  if (!are_all(list, [](const JsonValue& number) { return is_count(number, 0); }))
    fail_key(key, "a list of whole numbers from 0 to 2147483647");
  return list->int64s();
}

std::vector<std::int64_t> HfConfigReader::numbers_or(std::string_view key,
                                                     std::vector<std::int64_t> absent) const {
  return has(key) ? numbers(key) : absent;
}

std::vector<double> HfConfigReader::reals_or(std::string_view key,
                                             std::vector<double> absent) const {
  if (!has(key)) return absent;
  const auto list = object_.find(key);
  if (!are_all(list, is_finite)) fail_key(key, "a list of numbers");
  std::vector<double> numbers;
  list->each_element([&](const JsonValue& number) { numbers.push_back(number.number()); });
  return numbers;
}

HfConfigReader HfConfigReader::object(std::string_view key) const {
  const auto found = object_.find(key);
  if (!found || !found->is_object()) fail_key(key, "an object");
  return HfConfigReader(*found, path_ + std::string(key) + ": ");
}

}  // namespace hybridscope
