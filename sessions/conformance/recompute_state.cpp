#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/model/model_spec.h"
#include "core/model/page_size.h"
#include "core/model/state_shape.h"
#include "core/state/mamba_state_idx.h"
#include "core/state/mode_copies.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/planned_copies.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {

// copy_specs, ctx_init, stage_inputs and all_mode: layouts of states, and the values kept per
// request between steps.

namespace {

using nlohmann::json;

// "conv2d" drops a conv state's last dimension, "func" sets an unknown copy function; the other
// faults are in block_table_strides.
void inject_fault(const JsonValue& fault, MambaStateTensors& tensors) {
  const std::size_t name = fault.one_of({"conv2d", "func", "stride", "count"});
  if (name == 1) tensors.state_kinds.front() = std::nullopt;
  if (name != 0) return;
  for (std::size_t i = 0; i < tensors.state_kinds.size(); ++i) {
    if (tensors.state_kinds[i] != StateKind::conv) continue;
    if (tensors.layers.empty() || tensors.layers.back().states[i].shape.size() != 3)
      fault.fail("there is no conv state with 3 dimensions");
    tensors.layers.back().states[i].shape.pop_back();
    tensors.layers.back().states[i].stride.pop_back();
  }
}

using nlohmann::json;

// req_ids[:num_reqs].
std::vector<std::string> batch_names(const JsonValue& step) {
  std::vector<std::string> names = step["req_ids"].strings();
  const auto num_reqs = static_cast<std::size_t>(step["num_reqs"].int32({0, kMaxVectorRequests}));
  names.resize(std::min(names.size(), num_reqs));
  return names;
}

json stage_step(const JsonValue& step, PostprocessInputBuffers& buffers) {
  VectorRequests requests;
  const std::vector<std::string> names = batch_names(step);
  if (std::ssize(names) < step["num_reqs"].int32())
    return error_json(invalid_input("num_reqs is larger than req_ids"));
  const auto scheduled = counts_of(names, step["num_scheduled_tokens"]);
  if (!scheduled) return error_json(scheduled.error());
  const auto computed = counts_of(names, step["num_computed_tokens"]);
  if (!computed) return error_json(computed.error());
  const auto drafts = counts_or_zero(names, step["scheduled_spec_decode_tokens"]);
  const auto req_ids = requests.ids(names);
  const Status staged =
      stage_postprocess_inputs({.req_ids = req_ids,
                                .num_scheduled_tokens = scheduled.value(),
                                .num_computed_tokens = computed.value(),
                                .num_draft_tokens = drafts},
                               requests.state_idx(step["mamba_state_idx"]), buffers);
  if (!staged) return error_json(staged.error());
  return {{"mamba_state_idx", buffers.mamba_state_idx},
          {"num_scheduled_tokens", buffers.num_scheduled_tokens},
          {"num_computed_tokens", buffers.num_computed_tokens},
          {"num_draft_tokens", buffers.num_draft_tokens}};
}

class AllModeRun {
 public:
  explicit AllModeRun(const JsonValue& config)
      : block_size_(config["block_size"].int32({1, kMaxVectorCount})),
        num_spec_tokens_(read_count(config["num_spec_tokens"])),
        max_num_reqs_(read_max_num_reqs(config)) {}

  json step(const JsonValue& step) {
    const VectorGoneRequests gone(step, requests_);
    const std::vector<std::string> names = batch_names(step);
    const auto req_ids = requests_.ids(names);
    json answer;
    cleanup_mamba_state_idx(gone.view(), mamba_state_idx_);
    if (step["run_preprocess"].boolean()) {
      std::vector<std::int32_t> buffer(static_cast<std::size_t>(max_num_reqs_));
      const Status filled = preprocess_mamba_all_specdec(req_ids, mamba_state_idx_, buffer);
      if (!filled) return error_json(filled.error());
      answer["prev_last_scheduled_idx"] = buffer;
      answer["mamba_state_idx_after_preprocess"] = requests_.state_idx_json(mamba_state_idx_);
    } else {
      answer["mamba_state_idx_after_cleanup"] = requests_.state_idx_json(mamba_state_idx_);
    }
    const auto scheduled = counts_or_zero(names, step["num_scheduled_tokens"]);
    const auto computed = counts_or_zero(names, step["num_computed_tokens"]);
    const Status status = postprocess_mamba_all({.num_spec_tokens = num_spec_tokens_,
                                                 .block_size = block_size_,
                                                 .req_ids = req_ids,
                                                 .num_scheduled_tokens = scheduled,
                                                 .num_computed_tokens = computed},
                                                mamba_state_idx_);
    if (!status) return error_json(status.error());
    answer["mamba_state_idx_after_postprocess"] = requests_.state_idx_json(mamba_state_idx_);
    return answer;
  }

 private:
  std::int32_t block_size_;
  std::int32_t num_spec_tokens_;
  std::int32_t max_num_reqs_;
  VectorRequests requests_;
  MambaStateIdx mamba_state_idx_;
};

}  // namespace

json recompute_copy_specs(const VectorCase& vector, const VectorKernels&) {
  const JsonValue& input = vector.input;
  const StateTensor state =
      read_state_tensor(input["shape"], input["stride"], vector.config["element_size"]);
  const std::vector<std::int32_t> block_ids = input["block_ids"].int32s();
  const CopySpecArgs args{.block_ids = block_ids,
                          .cur_block_idx = read_count(input["cur_block_idx"]),
                          .num_accepted_tokens = read_count(input["num_accepted_tokens"])};
  const auto kind = vector.config["func"].one_of({"conv", "temporal"}) == 0 ? StateKind::conv
                                                                            : StateKind::temporal;
  const auto spec = get_copy_spec(state, args, kind, read_conv_state_layout(vector.config));
  if (!spec) return error_json(spec.error());
  json start;
  if (spec.value().start_byte_offset) start = *spec.value().start_byte_offset;
  return {{"start_byte_offset", start},
          {"num_elements", spec.value().num_elements},
          {"copy_bytes", spec.value().copy_bytes}};
}

json recompute_ctx_init(const VectorCase& vector, const VectorKernels&) {
  MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  if (const auto fault = vector.config.find_non_null("fault")) inject_fault(*fault, tensors);
  const std::vector<std::int64_t> strides = vector.input["block_table_strides"].int64s();
  const auto layout = make_state_layout(tensors, strides);
  if (!layout) return error_json(layout.error());
  json answer = layout_json(layout.value());
  answer["mamba_group_ids"] = layout.value().mamba_group_ids;
  return answer;
}

json recompute_stage_inputs(const VectorCase& vector, const VectorKernels&) {
  PostprocessInputBuffers buffers =
      make_postprocess_input_buffers(read_max_num_reqs(vector.config));
  return {{"steps", answer_until_error(vector.input["steps"], [&](const JsonValue& step) {
             return stage_step(step, buffers);
           })}};
}

json recompute_all_mode(const VectorCase& vector, const VectorKernels&) {
  AllModeRun run(vector.config);
  return {{"steps", answer_until_error(vector.input["steps"],
                                       [&](const JsonValue& step) { return run.step(step); })}};
}

// state_shapes, state_dtypes and block_sizes: functions of numbers and names.

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
    case 0: return Mamba1Dims{at("intermediate_size"), at("state_size"), at("conv_kernel")};
    case 1:
      return Mamba2Dims{at("intermediate_size"), at("n_groups"),   at("num_heads"),
                        at("head_dim"),          at("state_size"), at("conv_kernel")};
    case 2: return LinearAttentionDims{at("num_heads"), at("head_dim")};
    case 3: return ShortConvDims{at("intermediate_size"), at("conv_kernel")};
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
