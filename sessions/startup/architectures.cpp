#include "sessions/startup/architectures.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "sessions/startup/hf_reader.h"
#include "sessions/startup/layer_families.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// How a release says that it does not have the architecture yet.
enum class Absent : std::uint8_t {
  model,       // the registry does not know it
  draft,       // with MTP, the configuration of the draft model says so first
  method,      // with MTP, the method is not known
  model_type,  // transformers does not know it either
};

struct Architecture {
  const char* name;                    // config.json "architectures"[0]
  ReadLayers* read = nullptr;          // null: its layers are not known
  const char* mtp_layers = nullptr;    // key of the number of MTP layers; null: it has none
  std::int64_t mtp_layers_absent = 0;  // where the key is missing
  Release first = Release::v0_24_0;
  Release mtp_first = Release::v0_24_0;
  Absent absent = Absent::model;
  const char* last = nullptr;  // the last release that has it; null: the newest does
};

constexpr const char* kNextN = "num_nextn_predict_layers";
constexpr const char* kMtpLayers = "mtp_num_hidden_layers";

// First and last releases: vLLM model_executor/models/registry.py of each.
constexpr Architecture kArchitectures[] = {
    {"Qwen3NextForCausalLM", read_qwen3_next, kNextN, 1},
    {"Qwen3_5ForConditionalGeneration", read_qwen3_5, kMtpLayers, 1},
    {"Qwen3_5MoeForConditionalGeneration", read_qwen3_5, kMtpLayers, 1},
    {.name = "Qwen3_5ForCausalLM",
     .read = read_qwen3_5,
     .mtp_layers = kMtpLayers,
     .mtp_layers_absent = 1,
     .first = Release::v0_27_1,
     .absent = Absent::draft},
    {.name = "Qwen3_5MoeForCausalLM",
     .read = read_qwen3_5,
     .mtp_layers = kMtpLayers,
     .mtp_layers_absent = 1,
     .first = Release::v0_27_1,
     .absent = Absent::draft},
    {"MiniCPMV4_6ForConditionalGeneration", read_qwen3_5},
    {"InternS2PreviewForConditionalGeneration", read_qwen3_5, kMtpLayers, 1},
    {"Qwen4ExpForConditionalGeneration", read_qwen4_exp, kMtpLayers, 1, Release::v0_29_0},
    {"Qwen4ExpForCausalLM", read_qwen4_exp, kMtpLayers, 1, Release::v0_29_0},
    {"NemotronHForCausalLM", read_nemotron_h, kNextN},
    {"NemotronHPuzzleForCausalLM", read_nemotron_h, kNextN},
    {"NemotronH_Nano_VL_V2", read_nemotron_h, kNextN},
    {"NemotronH_Nano_Omni_Reasoning_V3", read_nemotron_h, kNextN},
    {"NemotronH_Super_Omni_Reasoning_V3", read_nemotron_h, kNextN},
    {"KimiLinearForCausalLM", read_kimi},
    {.name = "KimiK3ForConditionalGeneration",
     .read = read_kimi,
     .mtp_layers = kNextN,
     .first = Release::v0_27_1,
     .absent = Absent::model_type},
    {.name = "Glm5NextForConditionalGeneration",
     .read = read_glm5_next,
     .mtp_layers = kNextN,
     .first = Release::v0_30_0,
     .absent = Absent::method},
    {.name = "Glm5NextForCausalLM",
     .read = read_glm5_next,
     .mtp_layers = kNextN,
     .first = Release::v0_30_0,
     .absent = Absent::method},
    {"JambaForCausalLM", read_jamba},
    {"Zamba2ForCausalLM", read_zamba2},
    {"FalconH1ForCausalLM", read_falcon_h1},
    {"GraniteMoeHybridForCausalLM", read_granite},
    {"Lfm2ForCausalLM", read_lfm2},
    {"Lfm2MoeForCausalLM", read_lfm2_moe},
    {"Lfm2VlForConditionalGeneration", read_lfm2},
    {"OlmoHybridForCausalLM", read_olmo_hybrid},
    {.name = "BailingMoeV2_5ForCausalLM",
     .read = read_bailing_v2_5,
     .mtp_layers = kNextN,
     .mtp_first = Release::v0_25_1},
    {"BailingMoeV3ForCausalLM", read_bailing_v3, kNextN, 0, Release::v0_28_0},
    {"BailingMoeV3VLForConditionalGeneration", read_bailing_v3, kNextN, 0, Release::v0_30_0},
    {.name = "AliceAIForCausalLM", .read = read_alice, .first = Release::v0_33_0},
    {.name = "Plamo2ForCausalLM", .read = read_plamo2, .last = "0.26.0"},
    {.name = "BambaForCausalLM", .read = read_bamba, .last = "0.23.0"},
    {.name = "MiniMaxForCausalLM", .read = read_minimax, .last = "0.23.0"},
    {.name = "MiniMaxText01ForCausalLM", .read = read_minimax, .last = "0.23.0"},
    {.name = "MiniMaxM1ForCausalLM", .read = read_minimax, .last = "0.23.0"},
    {.name = "Phi4FlashForCausalLM", .last = "0.10.2"},
    {"MambaForCausalLM", read_mamba},
    {"FalconMambaForCausalLM", read_mamba},
    {"Mamba2ForCausalLM", read_mamba2},
    {"DeepseekV3ForCausalLM", read_deepseek, kNextN},
    {"GptOssForCausalLM", read_attention_only},
    {"Gemma3ForCausalLM", read_attention_only},
    {"Gemma3ForConditionalGeneration", read_attention_only},
    {"Llama4ForCausalLM", read_attention_only},
    {"Llama4ForConditionalGeneration", read_attention_only},
    {"LlamaForCausalLM", read_attention_only},
};

// "qwen35" of the model type "qwen3_5_text" and of the class Qwen3_5ForCausalLM.
std::string family_name(std::string_view name) {
  if (name.ends_with("_text")) name.remove_suffix(5);
  std::string family;
  for (const char c : name.substr(0, name.find("For")))
    if (c != '_') family += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return family;
}

// A file without "architectures" may tell its "model_type", which of a model with images ends in
// "_text" where it is the language model alone.
std::string told_architecture(const HfConfigReader& file) {
  if (file.has("architectures") || !file.has("model_type")) {
    const std::vector<std::string> told = file.texts("architectures");
    return told.empty() ? "" : told.front();
  }
  const std::string type = file.text("model_type");
  for (const Architecture& row : kArchitectures)
    if (family_name(row.name) == family_name(type) &&
        (!type.ends_with("_text") || std::string_view(row.name).ends_with("ForCausalLM")))
      return row.name;
  return "";
}

const Architecture& find_architecture(const HfConfigReader& file) {
  const std::string name = told_architecture(file);
  std::vector<std::string_view> known;
  for (const Architecture& row : kArchitectures) {
    if (row.read == nullptr) continue;
    if (name == row.name) return row;
    known.emplace_back(row.name);
  }
  file.fail_key("architectures",
                fmt::format("one whose layers are known{}; known: {}",
                            nearest_key_hint(name, known), fmt::join(known, ", ")));
}

// A release that has no such model any more.
bool is_gone(const Architecture& architecture, Release release) {
  if (architecture.last == nullptr) return false;
  const auto last = parse_release(architecture.last);
  return !last || release > *last;
}

constexpr std::int64_t kMostDraftLayers = 64;

// Layers of the model's own multi-token prediction: each caches as an attention layer of the
// target.
void add_mtp_layers(const Architecture& architecture, const HfConfigReader& reader,
                    StartupModel& model) {
  std::int64_t count = reader.whole_or(architecture.mtp_layers, architecture.mtp_layers_absent);
  if (architecture.read == read_nemotron_h) {
    if (!reader.has("mtp_hybrid_override_pattern")) return;
    const std::string pattern = reader.text("mtp_hybrid_override_pattern");
    count = count == 1 ? std::ranges::count(pattern, '*') : 0;
  }
  if (count > kMostDraftLayers)
    reader.fail_key(architecture.mtp_layers, fmt::format("at most {}", kMostDraftLayers));
  const std::int64_t first = reader.count("num_hidden_layers");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("mtp.{}", first + i);
    if (model.is_block_outermost) {
      add_sparse_draft(reader, name, model);
      continue;
    }
    for (const CachedLayer& layer : model.layers)
      if (std::holds_alternative<AttentionCache>(layer.cache) && !layer.is_draft) {
        model.layers.push_back({layer.cache, name, true});
        break;
      }
  }
}

void add_draft_model(const HfConfigReader& reader, StartupModel& model) {
  StartupModel draft;
  read_attention_only(reader, draft);
  for (CachedLayer& layer : draft.layers) {
    layer.is_draft = true;
    layer.name = "draft." + layer.name;
    model.layers.push_back(std::move(layer));
  }
}

bool is_mtp(std::string_view method) { return method == "mtp" || method.ends_with("_mtp"); }

// Larger numbers are no model's; within them no size overflows.
constexpr std::int64_t kMostHeads = 1 << 12;
constexpr std::int64_t kMostHeadSize = 1 << 16;
constexpr std::int64_t kMostDim = 1 << 20;
constexpr std::int64_t kMostChunk = 1 << 13;

struct Dimension {
  const char* name;
  std::int64_t value = 0;
  std::int64_t most = kMostDim;
};

std::vector<Dimension> dimensions_of(const LayerCache& cache) {
  if (const auto* attention = std::get_if<AttentionCache>(&cache))
    return {{"attention heads", attention->num_kv_heads, kMostHeads},
            {"elements of a head", attention->head_size, kMostHeadSize},
            {"elements of a head", attention->head_size_v, kMostHeadSize}};
  if (const auto* index = std::get_if<IndexKeyCache>(&cache))
    return {{"elements of an index key", index->head_size, kMostHeadSize},
            {"tokens of an index key", index->tokens_per_key, kMostHeads}};
  if (const auto* ring = std::get_if<RingCache>(&cache))
    return {{"heads of a ring", ring->num_kv_heads, kMostHeads},
            {"elements of a ring's head", ring->head_size, kMostHeadSize},
            {"tokens of an index key", ring->tokens_per_key, kMostHeads}};
  if (const auto* ple = std::get_if<PleShortConvCache>(&cache))
    return {{"rows of a short convolution", ple->num_rows}, {"its width", ple->width}};
  const auto& state = std::get<StateCache>(cache);
  if (const auto* dims = std::get_if<Mamba1Dims>(&state))
    return {{"intermediate_size", dims->intermediate_size},
            {"state_size", dims->state_size},
            {"conv_kernel", dims->conv_kernel}};
  if (const auto* dims = std::get_if<Mamba2Dims>(&state))
    return {{"intermediate_size", dims->intermediate_size},
            {"n_groups", dims->n_groups},
            {"num_heads", dims->num_heads},
            {"head_dim", dims->head_dim},
            {"state_size", dims->state_size},
            {"conv_kernel", dims->conv_kernel}};
  if (const auto* dims = std::get_if<LinearAttentionDims>(&state))
    return {{"num_heads", dims->num_heads}, {"head_dim", dims->head_dim}};
  if (const auto* dims = std::get_if<ShortConvDims>(&state))
    return {{"intermediate_size", dims->intermediate_size}, {"conv_kernel", dims->conv_kernel}};
  if (const auto* dims = std::get_if<GatedDeltaNetDims>(&state))
    return {{"num_k_heads", dims->num_k_heads},
            {"num_v_heads", dims->num_v_heads},
            {"head_k_dim", dims->head_k_dim},
            {"head_v_dim", dims->head_v_dim},
            {"conv_kernel_size", dims->conv_kernel_size}};
  const auto& dims = std::get<KdaDims>(state);
  return {{"num_heads", dims.num_heads},
          {"head_dim", dims.head_dim},
          {"conv_kernel_size", dims.conv_kernel_size}};
}

Status check_dimensions(const StartupModel& model) {
  if (std::ssize(model.layers) > kMostLayers)
    return invalid_input(fmt::format("{}: {} layers that cache, expected at most {}", model.name,
                                     model.layers.size(), kMostLayers));
  if (model.chunk_size > kMostChunk)
    return invalid_input(fmt::format("{}: chunk size {}, expected at most {}", model.name,
                                     model.chunk_size, kMostChunk));
  for (const CachedLayer& layer : model.layers)
    for (const Dimension& dimension : dimensions_of(layer.cache))
      if (dimension.value < 0 || dimension.value > dimension.most)
        return invalid_input(fmt::format("{}: layer {}: {} {}, expected 0 to {}", model.name,
                                         layer.name, dimension.name, dimension.value,
                                         dimension.most));
  return Ok{};
}

Error refusal(const std::string& words) { return {ErrorKind::not_available, words}; }

Error not_supported(const std::string& name, const char* config) {
  return refusal(
      fmt::format("ValidationError: 1 validation error for {}\n  Value error, Model architectures "
                  "['{}'] are not supported for now.",
                  config, name));
}

Error not_in_release(const Architecture& architecture, const HfConfigReader& file,
                     const StartupSettings& settings) {
  const bool mtp = is_mtp(settings.speculative_method);
  if (architecture.absent == Absent::model_type)
    return refusal(fmt::format(
        "ValidationError: 1 validation error for ModelConfig\n  Value error, The checkpoint you "
        "are trying to load has model type `{}` but Transformers does not recognize this "
        "architecture.",
        file.text("model_type")));
  if (mtp && architecture.absent == Absent::method)
    return refusal(fmt::format("NotImplementedError: Unsupported speculative method: '{}'",
                               settings.speculative_method));
  const bool draft = mtp && architecture.absent == Absent::draft;
  return not_supported(architecture.name, draft ? "SpeculativeConfig" : "ModelConfig");
}

// What the release says to the architecture; fine: it has it.
Status check_release(const Architecture& architecture, const HfConfigReader& file,
                     const StartupSettings& settings) {
  if (is_gone(architecture, settings.release))
    return refusal(fmt::format(
        "ValidationError: 1 validation error for ModelConfig\n  Value error, Model architecture {} "
        "was supported in vLLM until v{}, and is not supported anymore. Please use an older "
        "version of vLLM if you want to use this model architecture.",
        architecture.name, architecture.last));
  if (settings.release < architecture.first) return not_in_release(architecture, file, settings);
  // There they have a function of their own (_get_kv_cache_groups_glm5_next).
  if (architecture.read == read_glm5_next && settings.release < Release::v0_32_0)
    return invalid_input(
        fmt::format("{}: how {} groups its layers is not modelled; that of 0.32.0 and later is",
                    architecture.name, release_name(settings.release)));
  return Ok{};
}

// The dtype in which a model runs: the file's, but half precision for float32 and where there is
// none (vLLM config/model.py, _get_and_verify_dtype of "auto").
std::string model_dtype(const HfConfigReader& file, const HfConfigReader& text) {
  for (const HfConfigReader& reader : {text, file})
    for (const char* key : {"dtype", "torch_dtype"}) {
      if (!reader.has(key)) continue;
      const auto dtype = parse_dtype(reader.text(key));
      if (!dtype.ok()) reader.fail_key(key, "float16, bfloat16 or float32");
      if (dtype.value() == Dtype::float32) return "bfloat16";
      return std::string(dtype_name(dtype.value()));
    }
  return "bfloat16";
}

HfConfigReader language_model(const HfConfigReader& file) {
  const char* const key = file.has("llm_config") ? "llm_config" : "text_config";
  return file.has(key) ? file.object(key) : file;
}

StartupModel read_target(const Architecture& architecture, const HfConfigReader& file,
                         const std::string& name) {
  const HfConfigReader reader = language_model(file);
  StartupModel model{.name = name, .architecture = architecture.name};
  model.dtype = model_dtype(file, reader);
  architecture.read(reader, model);
  if (model.num_hidden_layers == 0) model.num_hidden_layers = num_layers(reader);
  model.max_model_len = reader.has("model_max_length")
                            ? reader.count("model_max_length")
                            : reader.whole_or("max_position_embeddings", 0);
  model.num_attention_heads = reader.whole_or("num_attention_heads", 0);
  // Keys that are there must be valid, even if the family does not need them.
  for (const char* key : {"hidden_size", "num_attention_heads"}) reader.count_or(key, 1);
  reader.whole_or("head_dim", 0);
  return model;
}

Result<StartupModel> read_model(const HfConfigReader& file, const ConfigText& config,
                                const std::optional<HfConfigReader>& draft,
                                const StartupSettings& settings) {
  const Architecture& architecture = find_architecture(file);
  if (Status has = check_release(architecture, file, settings); !has.ok()) return has.error();
  StartupModel model = read_target(architecture, file, config.file);
  if (is_mtp(settings.speculative_method)) {
    if (architecture.mtp_layers == nullptr || settings.release < architecture.mtp_first)
      return refusal(fmt::format("NotImplementedError: Unsupported speculative method: '{}'",
                                 settings.speculative_method));
    add_mtp_layers(architecture, language_model(file), model);
  } else if (draft) {
    const std::vector<std::string> drafts = draft->texts("architectures");
    if (!drafts.empty() && drafts.front() == "DFlash2DraftModel" &&
        settings.release < Release::v0_28_0)
      return not_supported("DFlash2DraftModel", "SpeculativeConfig");
    add_draft_model(*draft, model);
  }
  const std::int64_t tp = settings.tensor_parallel_size;
  if (model.num_attention_heads % tp != 0)
    return refusal(
        fmt::format("ValidationError: 1 validation error for VllmConfig\n  Value error, "
                    "Total number of attention heads ({}) must be divisible by tensor "
                    "parallel size ({}).",
                    model.num_attention_heads, tp));
  if (Status dimensions = check_dimensions(model); !dimensions.ok()) return dimensions.error();
  return model;
}

Result<nlohmann::json> parse(const ConfigText& config) {
  try {
    auto root = nlohmann::json::parse(config.text);
    if (root.is_object()) return root;
    return Error{ErrorKind::corrupt, fmt::format("{}: found {}, expected a JSON object",
                                                 config.file, root.type_name())};
  } catch (const nlohmann::json::exception& exception) {
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: not a JSON text: {}", config.file, exception.what())};
  }
}

}  // namespace

Result<StartupModel> read_target_model(const ConfigText& config) {
  const auto root = parse(config);
  if (!root.ok()) return root.error();
  auto model = read_json(config.file, [&] {
    const HfConfigReader file{JsonValue(root.value())};
    return read_target(find_architecture(file), file, config.file);
  });
  if (!model.ok()) return model.error();
  if (Status dimensions = check_dimensions(model.value()); !dimensions.ok())
    return dimensions.error();
  return model;
}

Result<StartupModel> read_startup_model(const ConfigText& config,
                                        const std::optional<ConfigText>& draft,
                                        const StartupSettings& settings) {
  const auto root = parse(config);
  if (!root.ok()) return root.error();
  nlohmann::json draft_root;
  if (draft) {
    auto parsed = parse(*draft);
    if (!parsed.ok()) return parsed.error();
    draft_root = std::move(parsed).value();
  }
  Result<StartupModel> model = Error{};
  const auto read = read_json(config.file, [&] {
    std::optional<HfConfigReader> draft_reader;
    if (draft) draft_reader.emplace(JsonValue(draft_root));
    model = read_model(HfConfigReader(JsonValue(root.value())), config, draft_reader, settings);
    return 0;
  });
  if (!read.ok()) return read.error();
  return model;
}

}  // namespace hybridscope
