#include "sessions/record/model_json.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/model/model_check.h"
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
  const ObjectReader& reader;
  void operator()(const char* name, std::int64_t& value) const {
    reader.require(name);
    value = reader.integer(name, {0, kMaxModelDim}).value_or(0);
  }
  void operator()(const char* name, std::optional<std::int64_t>& value) const {
    value = reader.integer(name, {0, kMaxModelDim});
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

AttentionDims read_attention(const JsonPlace& place, JsonErrors& errors) {
  AttentionDims dims;
  const ObjectReader reader(place, keys_of(dims), errors);
  const std::string type = reader.require("type") ? reader.string("type").value_or("") : "";
  if (type != kAttentionTypes[0] && type != kAttentionTypes[1])
    errors.fail(child_pointer(place.pointer, "type"),
                fmt::format("expected full or mla, found {}", quoted_text(type)));
  dims.attention_type = type == "mla" ? AttentionType::mla : AttentionType::full;
  visit_dims(dims, ReadDim{reader});
  return dims;
}

// The alternative of RecurrentDims with the name `type`.
template <std::size_t I = 0>
RecurrentDims read_recurrent_dims(const JsonPlace& place, std::string_view type,
                                  JsonErrors& errors) {
  if constexpr (I == std::variant_size_v<RecurrentDims>) {
    errors.fail(child_pointer(place.pointer, "type"),
                fmt::format("expected mamba1, mamba2, linear_attention, short_conv, gdn_attention "
                            "or kda, found {}",
                            quoted_text(type)));
    return {};
  } else {
    if (mamba_type_name(static_cast<MambaType>(I)) != type)
      return read_recurrent_dims<I + 1>(place, type, errors);
    std::variant_alternative_t<I, RecurrentDims> dims;
    const ObjectReader reader(place, keys_of(dims), errors);
    visit_dims(dims, ReadDim{reader});
    return dims;
  }
}

RecurrentDims read_recurrent(const JsonPlace& place, JsonErrors& errors) {
  const auto type = place.value->is_object() ? place.value->find("type") : place.value->end();
  const bool named = place.value->is_object() && type != place.value->end() && type->is_string();
  if (!place.value->is_object()) read_members(place, errors);
  return read_recurrent_dims(place, named ? type->get<std::string>() : std::string(), errors);
}

bool read_flag(const ObjectReader& reader, std::string_view key, JsonErrors& errors) {
  const auto place = reader.require(key);
  return place && read_boolean(*place, errors);
}

std::string read_text(const ObjectReader& reader, std::string_view key) {
  return reader.require(key) ? reader.string(key).value_or("") : "";
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
  return json;
}

ModelSpec read_model(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(place,
                            {"name", "source", "layers", "attention", "recurrent", "dtype",
                             "chunk_size", "max_model_len", "mamba_all_mode", "spec_in_state_shape",
                             "kernel_block_alignment", "default_block_size", "mamba_ssm_dtype"},
                            errors);
  ModelSpec model;
  model.name = read_text(reader, "name");
  model.source = read_text(reader, "source");
  auto layers = layers_from_pattern(read_text(reader, "layers"));
  if (!layers.ok())
    errors.fail(child_pointer(place.pointer, "layers"), layers.error().message);
  else
    model.layers = std::move(layers).value();
  if (const auto attention = reader.require("attention"))
    model.attention = read_attention(*attention, errors);
  if (const auto recurrent = reader.require("recurrent"))
    model.recurrent = read_recurrent(*recurrent, errors);
  model.dtype = read_text(reader, "dtype");
  const auto number = [&](std::string_view key, const IntegerRange& range) {
    reader.require(key);
    return reader.integer(key, range).value_or(range.min);
  };
  model.chunk_size = number("chunk_size", {0, kMaxModelDim});
  model.max_model_len = number("max_model_len", {1, kMaxLength});
  model.mamba_all_mode = read_flag(reader, "mamba_all_mode", errors) ? MambaAllMode::supported
                                                                     : MambaAllMode::unsupported;
  model.spec_in_state_shape = read_flag(reader, "spec_in_state_shape", errors)
                                  ? SpecInStateShape::passed
                                  : SpecInStateShape::not_passed;
  model.kernel_block_alignment = number("kernel_block_alignment", {1, kMaxModelDim});
  model.default_block_size = reader.integer("default_block_size", {1, kMaxModelDim});
  model.mamba_ssm_dtype = reader.string("mamba_ssm_dtype").value_or("auto");
  return model;
}

}  // namespace hybridscope
