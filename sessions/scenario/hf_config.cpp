#include "sessions/scenario/hf_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/model/model_layout.h"
#include "core/model/model_presets.h"
#include "core/model/state_shape.h"
#include "sessions/startup/known_models.h"
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
  if (std::filesystem::exists(name_or_path, code)) return load_hf_config(name_or_path);
  if (const KnownModel* known = find_known_model(name_or_path)) {
    auto model = parse_hf_config({.text = known->config, .file = name_or_path});
    if (model.ok()) model.value().source = known->source;
    return model;
  }
  if (name_or_path.ends_with(".json")) return load_hf_config(name_or_path);
  return Error{ErrorKind::not_found,
               "no model is called \"" + name_or_path + "\"" + nearest_model_hint(name_or_path) +
                   "; known: " + listed(names) +
                   ", the names of `hybridscope model --list`, or the path of a Hugging Face "
                   "config.json"};
}

}  // namespace hybridscope
