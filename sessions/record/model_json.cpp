#include "sessions/record/model_json.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/model/model_layout.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> kAttentionTypes = {"full", "mla"};
constexpr std::int64_t kMaxLength = (std::int64_t{1} << 31) - 1;

// Visits the dimensions of each kind of layer by name, for reading and writing.
template <class Visit>
void visit_dims(AttentionDims& d, Visit visit) {
  visit("num_kv_heads", d.num_kv_heads);
  visit("head_size", d.head_size);
  visit("kv_lora_rank", d.kv_lora_rank);
  visit("qk_rope_head_dim", d.qk_rope_head_dim);
}

template <class Visit>
void visit_dims(Mamba1Dims& d, Visit visit) {
  visit("intermediate_size", d.intermediate_size);
  visit("state_size", d.state_size);
  visit("conv_kernel", d.conv_kernel);
}

template <class Visit>
void visit_dims(Mamba2Dims& d, Visit visit) {
  visit("intermediate_size", d.intermediate_size);
  visit("n_groups", d.n_groups);
  visit("num_heads", d.num_heads);
  visit("head_dim", d.head_dim);
  visit("state_size", d.state_size);
  visit("conv_kernel", d.conv_kernel);
}

template <class Visit>
void visit_dims(LinearAttentionDims& d, Visit visit) {
  visit("num_heads", d.num_heads);
  visit("head_dim", d.head_dim);
}

template <class Visit>
void visit_dims(ShortConvDims& d, Visit visit) {
  visit("intermediate_size", d.intermediate_size);
  visit("conv_kernel", d.conv_kernel);
}

template <class Visit>
void visit_dims(GatedDeltaNetDims& d, Visit visit) {
  visit("num_k_heads", d.num_k_heads);
  visit("num_v_heads", d.num_v_heads);
  visit("head_k_dim", d.head_k_dim);
  visit("head_v_dim", d.head_v_dim);
  visit("conv_kernel_size", d.conv_kernel_size);
}

template <class Visit>
void visit_dims(KdaDims& d, Visit visit) {
  visit("num_heads", d.num_heads);
  visit("head_dim", d.head_dim);
  visit("num_k_heads", d.num_k_heads);
  visit("head_k_dim", d.head_k_dim);
  visit("conv_kernel_size", d.conv_kernel_size);
}

struct WriteDim {
  Json& json;
  void operator()(const char* name, std::int64_t value) const { json[name] = value; }
  void operator()(const char* name, const std::optional<std::int64_t>& value) const {
    if (value) json[name] = *value;
  }
};

struct ReadDim {
  const JsonValue& object;
  void operator()(const char* name, std::int64_t& value) const {
    value = object.require(name).int64({0, kMaxModelDim});
  }
  void operator()(const char* name, std::optional<std::int64_t>& value) const {
    value = object.int64_at(name, {0, kMaxModelDim});
  }
};

template <class Dims>
std::vector<std::string_view> keys_of(Dims dims) {
  std::vector<std::string_view> keys = {"type"};
  visit_dims(dims, [&](const char* name, const auto&) { keys.emplace_back(name); });
  return keys;
}

// Letters in the form of layers_from_pattern.
std::string layer_letters(const ModelSpec& model) {
  std::string letters;
  for (const LayerKind kind : model.layers)
    letters += kind == LayerKind::recurrent ? 'M' : kind == LayerKind::attention ? '*' : '-';
  return letters;
}

AttentionDims read_attention(const JsonValue& place) {
  AttentionDims dims;
  place.check_keys(keys_of(dims));
  const std::string_view type = place.require("type").text();
  if (type != kAttentionTypes[0] && type != kAttentionTypes[1])
    place.fail_at("type", fmt::format("expected full or mla, found {}", quoted_text(type)));
  dims.attention_type = type == "mla" ? AttentionType::mla : AttentionType::full;
  visit_dims(dims, ReadDim{place});
  return dims;
}

// The alternative of RecurrentDims with the name `type`.
template <std::size_t I = 0>
RecurrentDims read_recurrent_dims(const JsonValue& place, std::string_view type) {
  if constexpr (I == std::variant_size_v<RecurrentDims>) {
    place.fail_at(
        "type",
        fmt::format(
            "expected mamba1, mamba2, linear_attention, short_conv, gdn_attention or kda, found {}",
            quoted_text(type)));
  } else {
    if (mamba_type_name(static_cast<MambaType>(I)) != type)
      return read_recurrent_dims<I + 1>(place, type);
    std::variant_alternative_t<I, RecurrentDims> dims;
    place.check_keys(keys_of(dims));
    visit_dims(dims, ReadDim{place});
    return dims;
  }
}

RecurrentDims read_recurrent(const JsonValue& place) {
  if (!place.is_object()) place.expected("an object");
  const auto type = place.find("type");
  return read_recurrent_dims(place, type && type->is_string() ? type->text() : std::string_view());
}

}  // namespace

nlohmann::ordered_json model_to_json(const ModelSpec& model) {
  const auto type = static_cast<std::size_t>(model.attention.attention_type);
  Json attention = {{"type", kAttentionTypes[type]}};
  AttentionDims dims = model.attention;
  visit_dims(dims, WriteDim{attention});
  Json recurrent = {{"type", mamba_type_name(mamba_type_of(model.recurrent))}};
  std::visit([&](auto d) { visit_dims(d, WriteDim{recurrent}); }, model.recurrent);
  Json json = {{"name", model.name},
               {"source", model.source},
               {"layers", layer_letters(model)},
               {"attention", std::move(attention)},
               {"recurrent", std::move(recurrent)},
               {"dtype", model.dtype},
               {"chunk_size", model.chunk_size},
               {"max_model_len", model.max_model_len},
               {"mamba_all_mode", model.mamba_all_mode == MambaAllMode::supported},
               {"spec_in_state_shape", model.spec_in_state_shape == SpecInStateShape::passed},
               {"kernel_block_alignment", model.kernel_block_alignment}};
  if (model.default_block_size) json["default_block_size"] = *model.default_block_size;
  if (model.mamba_ssm_dtype != "auto") json["mamba_ssm_dtype"] = model.mamba_ssm_dtype;
  if (!model.config.empty()) json["config"] = model.config;
  if (!model.draft_config.empty()) json["draft_config"] = model.draft_config;
  return json;
}

ModelSpec read_model(const JsonValue& place) {
  place.check_keys({"name", "source", "layers", "attention", "recurrent", "dtype", "chunk_size",
                    "max_model_len", "mamba_all_mode", "spec_in_state_shape",
                    "kernel_block_alignment", "default_block_size", "mamba_ssm_dtype", "config",
                    "draft_config"});
  ModelSpec model;
  model.name = place.require("name").string();
  model.source = place.require("source").string();
  auto layers = layers_from_pattern(place.require("layers").string());
  if (!layers.ok()) place.fail_at("layers", layers.error().message);
  model.layers = std::move(layers).value();
  model.attention = read_attention(place.require("attention"));
  model.recurrent = read_recurrent(place.require("recurrent"));
  model.dtype = place.require("dtype").string();
  model.chunk_size = place.require("chunk_size").int64({0, kMaxModelDim});
  model.max_model_len = place.require("max_model_len").int64({1, kMaxLength});
  model.mamba_all_mode = place.require("mamba_all_mode").boolean() ? MambaAllMode::supported
                                                                   : MambaAllMode::unsupported;
  model.spec_in_state_shape = place.require("spec_in_state_shape").boolean()
                                  ? SpecInStateShape::passed
                                  : SpecInStateShape::not_passed;
  model.kernel_block_alignment = place.require("kernel_block_alignment").int64({1, kMaxModelDim});
  model.default_block_size = place.int64_at("default_block_size", {1, kMaxModelDim});
  model.mamba_ssm_dtype = place.string_at("mamba_ssm_dtype").value_or("auto");
  model.config = place.string_at("config").value_or("");
  model.draft_config = place.string_at("draft_config").value_or("");
  return model;
}

}  // namespace hybridscope
