#include "sessions/weights/load_model.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <system_error>
#include <vector>

#include "sessions/text/number_words.h"
#include "sessions/weights/safetensors.h"

namespace hybridscope {
namespace {

std::int32_t as_int32(std::int64_t n) { return static_cast<std::int32_t>(n); }

// Rows first .. first + count.
std::vector<std::int32_t> range_of(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}
void append_range(std::vector<std::int32_t>& rows, std::int32_t first, std::int32_t count) {
  const std::vector<std::int32_t> more = range_of(first, count);
  rows.insert(rows.end(), more.begin(), more.end());
}

// Parts of a model that also sees, or that drafts tokens itself.
constexpr const char* kOtherParts[] = {"model.visual.", "mtp."};

// Is the tensor one of the language model's?
bool is_loaded(const WeightsConfig& config, const std::string& name) {
  if (config.tie_word_embeddings && name == "lm_head.weight") return false;
  return std::ranges::none_of(kOtherParts,
                              [&](const char* prefix) { return name.starts_with(prefix); });
}

class ModelBuilder {
 public:
  ModelBuilder(const WeightsConfig& config, TensorTaker& take, HybridModel& model)
      : config_(config), take_(take), model_(model), hidden_(config.hidden_size) {}

  void build() {
    const std::string& prefix = config_.tensor_prefix;
    model_.vocab_size = config_.vocab_size;
    model_.hidden_size = hidden_;
    model_.rotary_dim = config_.rotary_dim;
    model_.rope_theta = config_.rope_theta;
    model_.embedding =
        take_.take(prefix + "embed_tokens.weight", {config_.vocab_size, config_.hidden_size});
    for (std::size_t i = 0; i < config_.model.layers.size(); ++i)
      model_.layers.push_back(
          layer(fmt::format("{}layers.{}.", prefix, i), config_.model.layers[i]));
    model_.final_norm = norm(prefix + names().final_norm);
    if (config_.tie_word_embeddings) {
      take_.ignore_if_there("lm_head.weight");
      model_.lm_head = {.weight = model_.embedding, .outputs = config_.vocab_size};
    } else {
      model_.lm_head = take_.linear("lm_head", {config_.vocab_size, hidden_});
    }
    for (const char* other : kOtherParts) take_.ignore(other);
  }

 private:
  struct Names {
    const char* final_norm;
    const char* mixer_norm;
    const char* feed_forward_norm;
    const char *gate, *up, *down;
    const char *attention_output, *q_norm, *k_norm;
  };
  const Names& names() const {
    static constexpr Names kBamba{"final_layernorm.weight",
                                  "input_layernorm.weight",
                                  "pre_ff_layernorm.weight",
                                  "feed_forward.gate_proj",
                                  "feed_forward.up_proj",
                                  "feed_forward.down_proj",
                                  "self_attn.o_proj",
                                  nullptr,
                                  nullptr};
    static constexpr Names kQwen3{"norm.weight",
                                  "input_layernorm.weight",
                                  "post_attention_layernorm.weight",
                                  "mlp.gate_proj",
                                  "mlp.up_proj",
                                  "mlp.down_proj",
                                  "self_attn.o_proj",
                                  "self_attn.q_norm.weight",
                                  "self_attn.k_norm.weight"};
    static constexpr Names kLfm2{"embedding_norm.weight",
                                 "operator_norm.weight",
                                 "ffn_norm.weight",
                                 "feed_forward.w1",
                                 "feed_forward.w3",
                                 "feed_forward.w2",
                                 "self_attn.out_proj",
                                 "self_attn.q_layernorm.weight",
                                 "self_attn.k_layernorm.weight"};
    if (config_.architecture == WeightsArchitecture::bamba) return kBamba;
    return config_.architecture == WeightsArchitecture::lfm2 ? kLfm2 : kQwen3;
  }

  bool is_qwen3() const {
    return config_.architecture == WeightsArchitecture::qwen3_5_text ||
           config_.architecture == WeightsArchitecture::qwen3_next;
  }

  // RMSNorm of the residual stream or of one head.
  RmsNorm norm(const std::string& name) { return norm(name, hidden_); }
  RmsNorm norm(const std::string& name, std::int32_t size) {
    return {.weight = take_.take(name, {size}),
            .eps = config_.norm_eps,
            .kind = is_qwen3() ? NormWeight::plus_one : NormWeight::plain};
  }

  HybridLayer layer(const std::string& prefix, LayerKind kind) {
    const std::int32_t inner = config_.intermediate_size;
    HybridLayer layer;
    layer.mixer_norm = norm(prefix + names().mixer_norm);
    layer.mixer = kind == LayerKind::attention ? Mixer(attention(prefix)) : recurrent(prefix);
    layer.feed_forward_norm = norm(prefix + names().feed_forward_norm);
    layer.feed_forward = {
        .gate = take_.linear(prefix + names().gate, {inner, hidden_, config_.mlp_bias}),
        .up = take_.linear(prefix + names().up, {inner, hidden_, config_.mlp_bias}),
        .down = take_.linear(prefix + names().down, {hidden_, inner, config_.mlp_bias})};
    return layer;
  }

  AttentionMixer attention(const std::string& prefix) {
    const std::int32_t D = as_int32(config_.model.attention.head_size);
    const std::int32_t heads = config_.num_attention_heads;
    const std::int32_t kv_heads = as_int32(config_.model.attention.num_kv_heads);
    const bool bias = config_.attention_bias;
    AttentionMixer mixer;
    mixer.layer = {.num_heads = heads, .num_kv_heads = kv_heads, .head_dim = D};
    mixer.has_output_gate = is_qwen3();
    const std::int32_t q_rows = heads * D * (mixer.has_output_gate ? 2 : 1);
    mixer.q_proj = take_.linear(prefix + "self_attn.q_proj", {q_rows, hidden_, bias});
    mixer.k_proj = take_.linear(prefix + "self_attn.k_proj", {kv_heads * D, hidden_, bias});
    mixer.v_proj = take_.linear(prefix + "self_attn.v_proj", {kv_heads * D, hidden_, bias});
    mixer.o_proj = take_.linear(prefix + names().attention_output, {hidden_, heads * D, bias});
    if (names().q_norm != nullptr) {
      mixer.q_norm = norm(prefix + names().q_norm, D);
      mixer.k_norm = norm(prefix + names().k_norm, D);
    }
    return mixer;
  }

  Mixer recurrent(const std::string& prefix) {
    switch (config_.architecture) {
      case WeightsArchitecture::bamba: return mamba2(prefix + "mamba.");
      case WeightsArchitecture::lfm2: return short_conv(prefix + "conv.");
      default: return gated_delta_net(prefix + "linear_attn.");
    }
  }

  ConvLayer conv(const std::string& name, std::int32_t dim, std::int64_t width, bool bias,
                 ConvActivation activation) {
    ConvLayer layer{.dim = dim,
                    .width = as_int32(width),
                    .state_len = as_int32(width) - 1,
                    .weight = take_.take(name + ".weight", {dim, 1, width}),
                    .activation = activation};
    if (bias) layer.bias = take_.take(name + ".bias", {dim});
    return layer;
  }

  Mamba2Mixer mamba2(const std::string& prefix) {
    const auto& dims = std::get<Mamba2Dims>(config_.model.recurrent);
    const std::int32_t heads = as_int32(dims.num_heads);
    const std::int32_t inner = heads * as_int32(dims.head_dim);
    const std::int32_t channels = inner + 2 * as_int32(dims.n_groups * dims.state_size);
    Mamba2Mixer mixer;
    mixer.in_proj =
        take_.linear(prefix + "in_proj", {inner + channels + heads, hidden_, config_.proj_bias});
    mixer.conv = conv(prefix + "conv1d", channels, dims.conv_kernel, config_.conv_bias,
                      ConvActivation::silu);
    mixer.recurrence = {.num_heads = heads,
                        .head_dim = as_int32(dims.head_dim),
                        .state_size = as_int32(dims.state_size),
                        .num_groups = as_int32(dims.n_groups),
                        .A_log = take_.take(prefix + "A_log", {heads}),
                        .D = take_.take(prefix + "D", {heads}),
                        .dt_bias = take_.take(prefix + "dt_bias", {heads}),
                        .dt_min = config_.dt_min,
                        .dt_max = config_.dt_max,
                        .has_dt_limit = config_.has_dt_limit};
    mixer.norm = norm(prefix + "norm.weight", inner);
    mixer.out_proj = take_.linear(prefix + "out_proj", {hidden_, inner, config_.proj_bias});
    return mixer;
  }

  ShortConvMixer short_conv(const std::string& prefix) {
    const auto& dims = std::get<ShortConvDims>(config_.model.recurrent);
    const bool bias = config_.conv_bias;
    ShortConvMixer mixer;
    mixer.in_proj = take_.linear(prefix + "in_proj", {3 * hidden_, hidden_, bias});
    mixer.conv = conv(prefix + "conv", hidden_, dims.conv_kernel, bias, ConvActivation::none);
    mixer.out_proj = take_.linear(prefix + "out_proj", {hidden_, hidden_, bias});
    return mixer;
  }

  GatedDeltaNetMixer gated_delta_net(const std::string& prefix) {
    const auto& dims = std::get<GatedDeltaNetDims>(config_.model.recurrent);
    const std::int32_t keys = as_int32(dims.num_k_heads * dims.head_k_dim);
    const std::int32_t heads = as_int32(dims.num_v_heads);
    const std::int32_t values = heads * as_int32(dims.head_v_dim);
    GatedDeltaNetMixer mixer;
    if (config_.architecture == WeightsArchitecture::qwen3_next) {
      split_projections(prefix, dims, mixer);
    } else {
      mixer.in_proj_qkv = take_.linear(prefix + "in_proj_qkv", {2 * keys + values, hidden_});
      mixer.in_proj_z = take_.linear(prefix + "in_proj_z", {values, hidden_});
      mixer.in_proj_b = take_.linear(prefix + "in_proj_b", {heads, hidden_});
      mixer.in_proj_a = take_.linear(prefix + "in_proj_a", {heads, hidden_});
    }
    mixer.conv = conv(prefix + "conv1d", 2 * keys + values, dims.conv_kernel_size, false,
                      ConvActivation::silu);
    mixer.recurrence = {.num_key_heads = as_int32(dims.num_k_heads),
                        .num_value_heads = heads,
                        .key_dim = as_int32(dims.head_k_dim),
                        .value_dim = as_int32(dims.head_v_dim),
                        .A_log = take_.take(prefix + "A_log", {heads}),
                        .dt_bias = take_.take(prefix + "dt_bias", {heads})};
    mixer.norm = {.weight = take_.take(prefix + "norm.weight", {dims.head_v_dim}),
                  .eps = config_.norm_eps};
    mixer.out_proj = take_.linear(prefix + "out_proj", {hidden_, values});
    return mixer;
  }

  // Qwen3-Next has, for each key head, rows [q | k | v of its value heads | z of them], and
  // [b of them | a of them].
  void split_projections(const std::string& prefix, const GatedDeltaNetDims& dims,
                         GatedDeltaNetMixer& mixer) {
    const std::int32_t Dk = as_int32(dims.head_k_dim);
    const std::int32_t ratio = as_int32(dims.num_v_heads / dims.num_k_heads);
    const std::int32_t per_head = ratio * as_int32(dims.head_v_dim);  // values of a key head
    const std::int32_t stride = 2 * Dk + 2 * per_head;
    const std::int32_t num_heads = as_int32(dims.num_k_heads);
    std::vector<std::int32_t> q, k, v, z, b, a;
    for (std::int32_t head = 0; head < num_heads; ++head) {
      const std::int32_t first = head * stride;
      append_range(q, first, Dk);
      append_range(k, first + Dk, Dk);
      append_range(v, first + 2 * Dk, per_head);
      append_range(z, first + 2 * Dk + per_head, per_head);
      append_range(b, head * 2 * ratio, ratio);
      append_range(a, head * 2 * ratio + ratio, ratio);
    }
    q.insert(q.end(), k.begin(), k.end());
    q.insert(q.end(), v.begin(), v.end());
    const auto qkvz =
        take_.take(prefix + "in_proj_qkvz.weight", {num_heads * stride, config_.hidden_size});
    const auto ba =
        take_.take(prefix + "in_proj_ba.weight", {2 * dims.num_v_heads, config_.hidden_size});
    const auto rows = [&](std::span<const float> tensor, const std::vector<std::int32_t>& chosen) {
      return Linear{.weight = take_.rows_of(tensor, hidden_, chosen),
                    .outputs = static_cast<std::int32_t>(chosen.size())};
    };
    mixer.in_proj_qkv = rows(qkvz, q);
    mixer.in_proj_z = rows(qkvz, z);
    mixer.in_proj_b = rows(ba, b);
    mixer.in_proj_a = rows(ba, a);
  }

  const WeightsConfig& config_;
  TensorTaker& take_;
  HybridModel& model_;
  std::int32_t hidden_;
};

// What the machine can give without swapping; where it does not say, any size.
std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  while (file >> name) {
    if (name == "MemAvailable:" && file >> kib) return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<std::int64_t>::max();
}

// In memory every weight has four bytes.
Status check_fits(const WeightsConfig& config, const Safetensors& stored, std::int64_t most_bytes) {
  std::int64_t needed = 0;
  for (const auto& [name, tensor] : stored.tensors())
    if (is_loaded(config, name)) needed += 4 * tensor.num_elements();
  const std::int64_t most = most_bytes > 0 ? most_bytes : available_memory();
  if (needed <= most) return Ok{};
  return invalid_input(
      fmt::format("{}: the weights take {} as float32, but only {} of memory may be used: a model "
                  "of at most {} parameters would fit",
                  stored.file(), format_byte_size(needed), format_byte_size(most), most / 4));
}

}  // namespace

Result<LoadedModel> load_model(const std::string& folder, std::int64_t most_bytes) {
  auto config = load_weights_config(folder);
  if (!config) return config.error();
  const auto stored = Safetensors::open(folder);
  if (!stored) return stored.error();
  if (Status fits = check_fits(config.value(), stored.value(), most_bytes); !fits)
    return fits.error();
  LoadedModel loaded{.spec = config.value().model, .model = {}};
  TensorTaker taker(stored.value(), loaded.model);
  ModelBuilder(config.value(), taker, loaded.model).build();
  if (auto error = taker.error()) return *error;
  return loaded;
}

namespace fs = std::filesystem;

Result<std::string> find_shipped_model() {
  std::error_code error;
  if (fs::is_directory(kShippedModel, error)) return std::string(kShippedModel);
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); !error && !folder.empty();
       folder = folder.parent_path()) {
    for (const fs::path& base : {folder, folder / "share/hybridscope"})
      if (std::error_code none; fs::is_directory(base / kShippedModel, none))
        return (base / kShippedModel).string();
    if (folder == folder.root_path()) break;
  }
  return Error{ErrorKind::not_found,
               fmt::format("there is no folder {} here, beside the program or in a folder above "
                           "it; name the model's with --weights DIR",
                           kShippedModel)};
}

}  // namespace hybridscope
