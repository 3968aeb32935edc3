#include "sessions/scenario/hf_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/model/model_layout.h"
#include "core/model/model_presets.h"
#include "sessions/startup/architectures.h"
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

// Chunk size of the FLA kernels (GatedDeltaNet, KDA); no file has it.
constexpr std::int64_t kFlaChunkSize = 64;
// vLLM's length of a model whose file has none (config/model.py, _get_and_verify_max_len).
constexpr std::int64_t kMaxModelLenNotTold = 2048;

// "layers" of the model by what they cache. A layer that caches twice counts as two.
std::vector<LayerKind> layers_of(const StartupModel& model) {
  const auto kind = [](const CachedLayer& layer) {
    return layer.is_state() ? LayerKind::recurrent : LayerKind::attention;
  };
  std::vector<LayerKind> layers(static_cast<std::size_t>(model.num_hidden_layers),
                                LayerKind::stateless);
  for (const CachedLayer& layer : model.layers) {
    const std::size_t number = std::stoul(layer.name);
    if (number < layers.size() && layers[number] == LayerKind::stateless) {
      layers[number] = kind(layer);
      continue;
    }
    layers.clear();
    for (const CachedLayer& each : model.layers) layers.push_back(kind(each));
    return layers;
  }
  return layers;
}

AttentionDims dims_of(const AttentionCache& cache) {
  if (cache.kind == AttentionKind::mla)
    return {.attention_type = AttentionType::mla,
            .kv_lora_rank = cache.head_size - cache.qk_rope_head_dim,
            .qk_rope_head_dim = cache.qk_rope_head_dim};
  return {.num_kv_heads = cache.num_kv_heads, .head_size = cache.head_size};
}

// Sets what the layers keep. The engine has attention to all tokens, alike in all layers, beside
// one kind of state. Returns why it has no run of the model; empty: it has.
std::string set_caches(const StartupModel& model, ModelSpec& spec) {
  const AttentionCache* attention = nullptr;
  const StateCache* state = nullptr;
  for (const CachedLayer& layer : model.layers) {
    const auto* attends = std::get_if<AttentionCache>(&layer.cache);
    const auto* recurs = std::get_if<StateCache>(&layer.cache);
    if (attends == nullptr && recurs == nullptr)
      return fmt::format("layer {} keeps more than keys, values and a state", layer.name);
    if (attends != nullptr && attends->kind != AttentionKind::full &&
        attends->kind != AttentionKind::mla)
      return fmt::format("layer {} attends to a window of tokens", layer.name);
    if (attends != nullptr && attention != nullptr && *attends != *attention)
      return fmt::format("layer {} attends in another way than the one before it", layer.name);
    if (recurs != nullptr && state != nullptr && *recurs != *state)
      return fmt::format("layer {} keeps another state than the one before it", layer.name);
    if (attends != nullptr) attention = attends;
    if (recurs != nullptr) state = recurs;
  }
  if (state == nullptr) return "no layer is recurrent";
  spec.recurrent = *state;
  if (attention != nullptr) spec.attention = dims_of(*attention);
  return {};
}

ModelSpec engine_model(const StartupModel& model, const ConfigText& config) {
  const std::string& file = config.file;
  ModelSpec spec{
      .name = file,
      .source = fmt::format("{} ({})", file, model.architecture),
      .layers = layers_of(model),
      .dtype = model.dtype,
      .chunk_size = model.chunk_size,
      .max_model_len = model.max_model_len > 0 ? model.max_model_len : kMaxModelLenNotTold,
      .config = std::string(config.text)};
  spec.not_run_because = set_caches(model, spec);
  if (model.ssm_dtype_rule == SsmDtypeRule::from_config) spec.mamba_ssm_dtype = model.ssm_dtype;
  if (model.supports_mode_all) spec.mamba_all_mode = MambaAllMode::supported;
  const MambaType type = mamba_type_of(spec.recurrent);
  const bool is_fla = type == MambaType::gdn_attention || type == MambaType::kda;
  if (is_fla && spec.chunk_size == 0) spec.chunk_size = kFlaChunkSize;
  if (model.passes_num_spec && (is_fla || type == MambaType::mamba2))
    spec.spec_in_state_shape = SpecInStateShape::passed;
  return spec;
}

}  // namespace

Result<ModelSpec> parse_hf_config(const ConfigText& config) {
  auto model = read_target_model(config);
  if (!model.ok()) return model.error();
  ModelSpec spec = engine_model(model.value(), config);
  if (!spec.not_run_because.empty()) return spec;
  if (const Status status = check_model(spec); !status)
    spec.not_run_because = status.error().message;
  return spec;
}

namespace {

Result<std::string> read_config_file(const std::string& path) {
  if (Status file = check_no_directory(path); !file.ok()) return file.error();
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code) return Error{ErrorKind::io, path + ": cannot be read: " + code.message()};
  if (size > kMaxFileBytes)
    return Error{ErrorKind::io, path + ": has " + std::to_string(size) +
                                    " bytes, more than a config.json can have (" +
                                    std::to_string(kMaxFileBytes) + ")"};
  std::ifstream stream(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream.is_open() || stream.bad()) return Error{ErrorKind::io, path + ": cannot be read"};
  return text;
}

// The path of the config.json that a name stands for; empty: it is no path.
std::string config_path(const std::string& name) {
  std::error_code code;
  if (std::filesystem::is_directory(name, code))
    return (std::filesystem::path(name) / "config.json").string();
  return std::filesystem::exists(name, code) ? name : std::string();
}

Result<ModelSpec> resolve_target(const std::string& name) {
  const auto presets = model_preset_names();
  const KnownModel* const known = find_known_model(name);
  if (std::ranges::find(presets, name) != presets.end()) {
    auto preset = model_preset(name);
    if (known != nullptr) preset.value().config = known->config;
    return preset;
  }
  if (const std::string path = config_path(name); !path.empty()) return load_hf_config(path);
  if (known != nullptr) {
    auto model = parse_hf_config({.text = known->config, .file = name});
    if (model.ok()) model.value().source = known->source;
    return model;
  }
  if (name.ends_with(".json")) return load_hf_config(name);
  return Error{ErrorKind::not_found,
               "no model is called \"" + name + "\"" + nearest_model_hint(name) +
                   "; known: " + listed(presets) +
                   ", the names of `hybridscope model --list`, or the path of a Hugging Face "
                   "config.json"};
}

}  // namespace

Result<ModelSpec> load_hf_config(const std::string& path) {
  const auto text = read_config_file(path);
  if (!text.ok()) return text.error();
  return parse_hf_config({.text = text.value(), .file = path});
}

Result<ModelSpec> resolve_model(const std::string& name_or_path, const std::string& draft_model) {
  auto model = resolve_target(name_or_path);
  if (!model.ok() || draft_model.empty()) return model;
  const KnownModel* const known = find_known_model(draft_model);
  const std::string path = config_path(draft_model);
  if (known == nullptr && path.empty())
    return Error{ErrorKind::not_found,
                 "the layers of the draft model \"" + draft_model +
                     "\" are not known; give its config.json (--draft-model FILE)"};
  auto text = path.empty() ? Result<std::string>(known->config) : read_config_file(path);
  if (!text.ok()) return text.error();
  model.value().draft_config = std::move(text).value();
  return model;
}

}  // namespace hybridscope
