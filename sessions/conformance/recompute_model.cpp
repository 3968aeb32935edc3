// state_shapes, state_dtypes and block_sizes: functions of numbers and names.
#include <array>

#include "core/model/model_spec.h"
#include "core/model/page_size.h"
#include "core/model/state_shape.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// Larger than any real dimension, but twice a product of two still fits 63 bits.
constexpr std::int64_t kMaxModelDim = std::int64_t{1} << 30;

std::int64_t dim(const JsonValue& input, std::string_view name) {
  return input[name].int64({-kMaxModelDim, kMaxModelDim});
}

std::optional<std::int64_t> optional_dim(const JsonValue& input, std::string_view name) {
  if (!input.has_non_null(name)) return std::nullopt;
  return dim(input, name);
}

RecurrentDims read_dims(const JsonValue& method, const JsonValue& input) {
  const auto at = [&](std::string_view name) { return dim(input, name); };
  switch (method.one_of({"mamba1_state_shape", "mamba2_state_shape", "linear_attention_state_shape",
                         "short_conv_state_shape", "gated_delta_net_state_shape", "kda_state_shape",
                         "extra_groups_for_head_shards"})) {
    case 0:
      return Mamba1Dims{at("intermediate_size"), at("state_size"), at("conv_kernel")};
    case 1:
      return Mamba2Dims{at("intermediate_size"), at("n_groups"),   at("num_heads"),
                        at("head_dim"),          at("state_size"), at("conv_kernel")};
    case 2:
      return LinearAttentionDims{at("num_heads"), at("head_dim")};
    case 3:
      return ShortConvDims{at("intermediate_size"), at("conv_kernel")};
    case 4:
      return GatedDeltaNetDims{at("num_k_heads"), at("num_v_heads"), at("head_k_dim"),
                               at("head_v_dim"), at("conv_kernel_size")};
    default:
      return KdaDims{at("num_heads"), at("head_dim"), optional_dim(input, "num_k_heads"),
                     optional_dim(input, "head_k_dim"),
                     optional_dim(input, "conv_kernel_size").value_or(4)};
  }
}

struct NamedMambaType {
  // Prefix of the reference's method names; "_dtype" or "_copy_func" follows.
  std::string_view name;
  MambaType type;
};

constexpr auto kMambaTypes =
    std::to_array<NamedMambaType>({{"mamba1_state", MambaType::mamba1},
                                   {"mamba2_state", MambaType::mamba2},
                                   {"linear_attention_state", MambaType::linear_attention},
                                   {"short_conv_state", MambaType::short_conv},
                                   {"gated_delta_net_state", MambaType::gdn_attention},
                                   {"kda_state", MambaType::kda}});

json copy_funcs_json(MambaType type) {
  json funcs = json::array();
  for (const StateKind kind : state_copy_funcs(type))
    funcs.push_back(kind == StateKind::conv ? "conv" : "temporal");
  return {{"copy_funcs", funcs}};
}

json dtypes_json(MambaType type, const JsonValue& input) {
  const std::string model = input["model_dtype"].string();
  const std::string cache = input["mamba_cache_dtype"].string();
  const std::string ssm = input.has_non_null("mamba_ssm_cache_dtype")
                              ? input["mamba_ssm_cache_dtype"].string()
                              : "auto";
  const auto dtypes = state_dtypes(
      type, {.model_dtype = model, .mamba_cache_dtype = cache, .mamba_ssm_cache_dtype = ssm});
  if (!dtypes) return error_json(dtypes.error());
  json names = json::array();
  for (const Dtype dtype : dtypes.value()) names.push_back(dtype_name(dtype));
  return {{"dtypes", names}};
}

}  // namespace

json recompute_state_shapes(const VectorCase& vector, const VectorKernels&) {
  const JsonValue method = vector.config["method"];
  const JsonValue& input = vector.input;
  const auto layout = vector.config["layout"].one_of({"SD", "DS"});
  if (method.string() == "extra_groups_for_head_shards") {
    const auto value = extra_groups_for_head_shards(
        {.ngroups = dim(input, "ngroups"), .tp_size = dim(input, "tp_size")});
    return value ? json{{"value", value.value()}} : error_json(value.error());
  }
  const auto shapes =
      state_shapes(read_dims(method, input),
                   {.tp_world_size = dim(
                        input, input.has_non_null("tp_world_size") ? "tp_world_size" : "tp_size"),
                    .conv_state_layout = layout == 1 ? ConvStateLayout::DS : ConvStateLayout::SD,
                    .num_spec = optional_dim(input, "num_spec").value_or(0)});
  return shapes ? json{{"shapes", shapes.value()}} : error_json(shapes.error());
}

json recompute_state_dtypes(const VectorCase& vector, const VectorKernels&) {
  const JsonValue method = vector.config["method"];
  const std::string name = method.string();
  for (const NamedMambaType& type : kMambaTypes) {
    if (!name.starts_with(type.name)) continue;
    const std::string_view rest = std::string_view(name).substr(type.name.size());
    if (rest == "_copy_func") return copy_funcs_json(type.type);
    if (rest == "_dtype") return dtypes_json(type.type, vector.input);
  }
  method.fail("unknown method " + method.dump() +
              " (expected a kind of layer, \"_state\" and \"_dtype\" or \"_copy_func\")");
}

json recompute_block_sizes(const VectorCase& vector, const VectorKernels&) {
  std::vector<GroupBlockSize> groups;
  for (const JsonValue& group : vector.input["groups"].elements())
    groups.push_back(
        {group["type"].one_of({"full", "mamba"}) == 0 ? GroupType::full : GroupType::mamba,
         group["block_size"].int64()});
  const JsonValue& config = vector.config;
  const auto hash_block_size = config.find_non_null("hash_block_size");
  const auto sizes = resolve_block_sizes(
      {.block_size = config["block_size"].int64(),
       .enable_prefix_caching = config["enable_prefix_caching"].boolean(),
       .hash_block_size = hash_block_size ? std::optional(hash_block_size->int64()) : std::nullopt,
       .decode_context_parallel_size = config["decode_context_parallel_size"].int64(),
       .kv_connector = config["kv_connector"].boolean(),
       .groups = groups});
  if (!sizes) return error_json(sizes.error());
  return {{"scheduler_block_size", sizes.value().scheduler_block_size},
          {"hash_block_size", sizes.value().hash_block_size}};
}

}  // namespace hybridscope
