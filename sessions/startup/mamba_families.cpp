#include "sessions/startup/layer_families.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridscope {
namespace {

// Attention layers are registered first.
void add_attention_first(StartupModel& model, const std::vector<bool>& attends,
                         const std::vector<bool>& recurs, const AttentionCache& attention,
                         const StateCache& state) {
  for (std::size_t i = 0; i < attends.size(); ++i)
    if (attends[i]) model.layers.push_back({attention, std::to_string(i)});
  for (std::size_t i = 0; i < recurs.size(); ++i)
    if (recurs[i]) model.layers.push_back({state, std::to_string(i)});
}

std::int64_t expanded(const HfConfigReader& reader, std::string_view expand) {
  return reader.count(expand) * reader.count("hidden_size");
}

void set_mamba2(StartupModel& model, std::int64_t chunk_size) {
  model.supports_mode_all = true;
  model.chunk_size = chunk_size;
  model.checkpoint_kernel = CheckpointKernel::mamba2;
}

Mamba2Dims nemotron_h_mamba2(const HfConfigReader& reader) {
  Mamba2Dims dims{.n_groups = reader.count("n_groups"),
                  .num_heads = reader.count("mamba_num_heads"),
                  .head_dim = reader.count("mamba_head_dim"),
                  .state_size = reader.count("ssm_state_size"),
                  .conv_kernel = reader.count("conv_kernel")};
  dims.intermediate_size = dims.num_heads * dims.head_dim;
  return dims;
}

std::vector<LayerKind> nemotron_h_layers(const HfConfigReader& reader) {
  if (!reader.has("hybrid_override_pattern")) {
    std::vector<LayerKind> kinds;
    for (const std::string& type : reader.texts("layers_block_type"))
      kinds.push_back(type == "mamba"       ? LayerKind::recurrent
                      : type == "attention" ? LayerKind::attention
                                            : LayerKind::stateless);
    return kinds;
  }
  const auto kinds = layers_from_pattern(reader.text("hybrid_override_pattern"));
  if (!kinds.ok()) reader.fail("key \"hybrid_override_pattern\": " + kinds.error().message);
  if (const std::int64_t layers = num_layers(reader); std::ssize(kinds.value()) != layers)
    reader.fail(
        fmt::format("key \"hybrid_override_pattern\" has {} layers, but "
                    "\"num_hidden_layers\" is {}",
                    kinds.value().size(), layers));
  return kinds.value();
}

}  // namespace

void read_nemotron_h(const HfConfigReader& reader, StartupModel& model) {
  const Mamba2Dims dims = nemotron_h_mamba2(reader);
  AttentionCache attention{.num_kv_heads = reader.count("num_key_value_heads"),
                           .head_size = reader.count_of_any({"head_dim", "attention_head_dim"})};
  attention.head_size_v = attention.head_size;
  const std::vector<LayerKind> kinds = nemotron_h_layers(reader);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == LayerKind::stateless) continue;
    const bool attends = kinds[i] == LayerKind::attention;
    model.layers.push_back(
        {attends ? LayerCache(attention) : LayerCache(StateCache(dims)), std::to_string(i)});
  }
  model.num_hidden_layers = std::ssize(kinds);
  set_mamba2(model, reader.count_or("chunk_size", 0));
  model.ssm_dtype_rule = SsmDtypeRule::from_config;
  model.ssm_dtype = ssm_dtype_of(reader, "mamba_ssm_cache_dtype", "float32");
}

void read_jamba(const HfConfigReader& reader, StartupModel& model) {
  const Mamba1Dims dims{.intermediate_size = expanded(reader, "mamba_expand"),
                        .state_size = reader.count("mamba_d_state"),
                        .conv_kernel = reader.count("mamba_d_conv")};
  std::vector<bool> attends;
  for (std::int64_t i = 0; i < num_layers(reader); ++i)
    attends.push_back(i % reader.count("attn_layer_period") ==
                      reader.whole_or("attn_layer_offset", 0));
  add_layers(model, attends, full_attention(reader), dims);
  model.supports_mode_all = true;
}

void read_zamba2(const HfConfigReader& reader, StartupModel& model) {
  const std::int64_t layers = num_layers(reader);
  const Mamba2Dims dims{.intermediate_size = expanded(reader, "mamba_expand"),
                        .n_groups = reader.count("mamba_ngroups"),
                        .num_heads = reader.count("n_mamba_heads"),
                        .head_dim = reader.count("mamba_headdim"),
                        .state_size = reader.count("mamba_d_state"),
                        .conv_kernel = reader.count("mamba_d_conv")};
  const std::int64_t size =
      reader.has("attention_head_dim")
          ? reader.count("attention_head_dim")
          : 2 * reader.count("hidden_size") / reader.count("num_attention_heads");
  const AttentionCache attention{
      .num_kv_heads = reader.count("num_key_value_heads"), .head_size = size, .head_size_v = size};
  std::vector<bool> attends(static_cast<std::size_t>(layers));
  if (reader.has("hybrid_layer_ids")) {
    for (const std::int64_t layer : reader.numbers("hybrid_layer_ids"))
      if (layer < layers) attends[static_cast<std::size_t>(layer)] = true;
  } else {
    const std::vector<std::string> types = reader.texts("layers_block_type");
    for (std::size_t i = 0; i < std::min(types.size(), attends.size()); ++i)
      attends[i] = types[i] == "hybrid";
  }
  add_attention_first(model, attends, std::vector<bool>(attends.size(), true), attention, dims);
  set_mamba2(model, reader.count_or("chunk_size", 0));
  model.passes_num_spec = false;
}

void read_falcon_h1(const HfConfigReader& reader, StartupModel& model) {
  const std::vector<bool> all(static_cast<std::size_t>(num_layers(reader)), true);
  const std::int64_t width =
      reader.has("mamba_d_ssm") ? reader.count("mamba_d_ssm") : expanded(reader, "mamba_expand");
  add_attention_first(model, all, all, full_attention(reader), prefixed_mamba2(reader, width));
  set_mamba2(model, reader.count_or("mamba_chunk_size", 0));
  model.passes_num_spec = false;
}

void read_granite(const HfConfigReader& reader, StartupModel& model) {
  if (!reader.has("layer_types")) reader.fail_key("layer_types", "a list of strings");
  const std::vector<bool> attends = attending_layers(reader, "mamba", "attention");
  if (std::ranges::find(attends, false) == attends.end()) {
    for (std::size_t i = 0; i < attends.size(); ++i)
      model.layers.push_back({full_attention(reader), std::to_string(i)});
    return;
  }
  add_layers(model, attends, full_attention(reader),
             prefixed_mamba2(reader, expanded(reader, "mamba_expand")));
  set_mamba2(model, reader.count_or("mamba_chunk_size", 0));
  model.passes_num_spec = false;
}

// No release that is modelled has it.
void read_bamba(const HfConfigReader& reader, StartupModel& model) {
  add_layers(model, listed_layers(reader, "attn_layer_indices", num_layers(reader)),
             full_attention(reader), prefixed_mamba2(reader, expanded(reader, "mamba_expand")));
  set_mamba2(model, reader.count("mamba_chunk_size"));
  model.passes_num_spec = false;
}

void read_lfm2(const HfConfigReader& reader, StartupModel& model) {
  const ShortConvDims dims{
      .intermediate_size = reader.count_or("conv_dim", reader.count("hidden_size")),
      .conv_kernel = reader.count("conv_L_cache")};
  std::vector<bool> attends;
  if (reader.has("layer_types")) {
    attends = attending_layers(reader, "conv");
  } else {
    attends = listed_layers(reader, "full_attn_idxs", num_layers(reader));
  }
  add_layers(model, attends, full_attention(reader), dims);
}

void read_lfm2_moe(const HfConfigReader& reader, StartupModel& model) {
  add_layers(model, attending_layers(reader, "conv"), full_attention(reader),
             ShortConvDims{.intermediate_size = reader.count("hidden_size"),
                           .conv_kernel = reader.count("conv_L_cache")});
}

void read_plamo2(const HfConfigReader& reader, StartupModel& model) {
  const std::int64_t layers = num_layers(reader);
  const std::int64_t half = reader.count("mamba_step") / 2;
  std::vector<bool> attends;
  for (std::int64_t i = 0; i < layers; ++i)
    attends.push_back(layers <= half ? i == layers - 1 : i % reader.count("mamba_step") == half);
  const std::int64_t size = reader.count("hidden_size_per_head");
  const std::int64_t heads = reader.count("mamba_num_heads");
  add_layers(
      model, attends,
      {.num_kv_heads = reader.count("num_key_value_heads"), .head_size = size, .head_size_v = size},
      Mamba2Dims{.intermediate_size = heads * size,
                 .n_groups = 0,
                 .num_heads = heads,
                 .head_dim = size,
                 .state_size = reader.count("mamba_d_state"),
                 .conv_kernel = reader.count("mamba_d_conv")});
  set_mamba2(model, reader.count_or("mamba_chunk_size", 0));
}
namespace {

void add_states(StartupModel& model, const HfConfigReader& reader, const StateCache& state) {
  for (std::int64_t i = 0; i < num_layers(reader); ++i)
    model.layers.push_back({state, std::to_string(i)});
  model.has_inner_state_only = true;
  model.supports_mode_all = true;
}

std::int64_t mamba_width(const HfConfigReader& reader) {
  return reader.has("intermediate_size") ? reader.count("intermediate_size")
                                         : expanded(reader, "expand");
}

}  // namespace

void read_mamba(const HfConfigReader& reader, StartupModel& model) {
  add_states(model, reader,
             Mamba1Dims{.intermediate_size = mamba_width(reader),
                        .state_size = reader.count("state_size"),
                        .conv_kernel = reader.count("conv_kernel")});
}

void read_mamba2(const HfConfigReader& reader, StartupModel& model) {
  add_states(model, reader,
             Mamba2Dims{.intermediate_size = mamba_width(reader),
                        .n_groups = reader.count("n_groups"),
                        .num_heads = reader.count("num_heads"),
                        .head_dim = reader.count("head_dim"),
                        .state_size = reader.count("state_size"),
                        .conv_kernel = reader.count("conv_kernel")});
  set_mamba2(model, reader.count_or("chunk_size", 0));
}

}  // namespace hybridscope
