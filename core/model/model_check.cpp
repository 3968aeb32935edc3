#include "core/model/model_layout.h"

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxSpeculativeTokens = 1024;
constexpr std::size_t kMaxLayers = 100000;

struct Field {
  const char* name;
  std::int64_t value = 0;
  std::int64_t least = 1;
  std::int64_t most = kMaxModelDim;
};

Status check_fields(const std::string& where, std::span<const Field> fields) {
  for (const Field& field : fields)
    if (field.value < field.least || field.value > field.most)
      return invalid_input(where + ": " + field.name + " is " + std::to_string(field.value) +
                           ", expected " + std::to_string(field.least) + " to " +
                           std::to_string(field.most));
  return Ok{};
}

struct RecurrentFields {
  std::vector<Field> operator()(const Mamba1Dims& d) const {
    return {{"intermediate_size", d.intermediate_size},
            {"state_size", d.state_size},
            {"conv_kernel", d.conv_kernel, 2}};
  }
  std::vector<Field> operator()(const Mamba2Dims& d) const {
    return {{"intermediate_size", d.intermediate_size},
            {"n_groups", d.n_groups},
            {"num_heads", d.num_heads},
            {"head_dim", d.head_dim},
            {"state_size", d.state_size},
            {"conv_kernel", d.conv_kernel, 2}};
  }
  std::vector<Field> operator()(const LinearAttentionDims& d) const {
    return {{"num_heads", d.num_heads}, {"head_dim", d.head_dim}};
  }
  std::vector<Field> operator()(const ShortConvDims& d) const {
    return {{"intermediate_size", d.intermediate_size}, {"conv_kernel", d.conv_kernel, 2}};
  }
  std::vector<Field> operator()(const GatedDeltaNetDims& d) const {
    return {{"num_k_heads", d.num_k_heads},
            {"num_v_heads", d.num_v_heads},
            {"head_k_dim", d.head_k_dim},
            {"head_v_dim", d.head_v_dim},
            {"conv_kernel_size", d.conv_kernel_size, 2}};
  }
  std::vector<Field> operator()(const KdaDims& d) const {
    return {{"num_heads", d.num_heads},
            {"head_dim", d.head_dim},
            {"num_k_heads", d.num_k_heads.value_or(1)},
            {"head_k_dim", d.head_k_dim.value_or(1)},
            {"conv_kernel_size", d.conv_kernel_size, 2}};
  }
};

std::vector<Field> attention_fields(const AttentionDims& d) {
  if (d.attention_type == AttentionType::mla)
    return {{"kv_lora_rank", d.kv_lora_rank}, {"qk_rope_head_dim", d.qk_rope_head_dim, 0}};
  return {{"num_kv_heads", d.num_kv_heads}, {"head_size", d.head_size}};
}

}  // namespace

Status check_model(const ModelSpec& model) {
  const std::string where = "model " + model.name;
  if (model.layers.size() > kMaxLayers)
    return invalid_input(where + ": " + std::to_string(model.layers.size()) +
                         " layers, expected at most " + std::to_string(kMaxLayers));
  if (layers_of_kind(model, LayerKind::recurrent).empty())
    return invalid_input(
        where + ": none of its " + std::to_string(model.layers.size()) +
        " layers is recurrent; a pure attention model has no recurrent state to check");
  const Field sizes[] = {
      {"max_model_len", model.max_model_len, 1, kMaxInt32},
      {"chunk_size", model.chunk_size, 0},
      {"kernel_block_alignment", model.kernel_block_alignment},
      {"default_block_size", model.default_block_size.value_or(1)},
  };
  if (Status status = check_fields(where, sizes); !status) return status;
  if (Status status = check_fields(where, std::visit(RecurrentFields{}, model.recurrent)); !status)
    return status;
  if (layers_of_kind(model, LayerKind::attention).empty()) return Ok{};
  return check_fields(where, attention_fields(model.attention));
}

Status check_model_and_settings(const ModelSpec& model, const KVCacheSettings& settings) {
  if (Status status = check_model(model); !status) return status;
  const Field fields[] = {
      {"num_speculative_tokens", settings.num_speculative_tokens, 0, kMaxSpeculativeTokens},
      {"tensor_parallel_size", settings.tensor_parallel_size},
      {"block_size", settings.block_size.value_or(1)},
      {"mamba_block_size", settings.mamba_block_size.value_or(1)},
      {"prefix_match_unit", settings.hash_block_size.value_or(1)},
      {"max_model_len", settings.max_model_len.value_or(1), 1, kMaxInt32},
      {"max_num_batched_tokens", settings.max_num_batched_tokens, 1, kMaxInt32},
      {"long_prefill_token_threshold", settings.long_prefill_token_threshold, 0, kMaxInt32},
      {"kv_cache_memory_bytes", settings.kv_cache_memory_bytes, 0,
       std::numeric_limits<std::int64_t>::max()},
  };
  return check_fields("settings", fields);
}

}  // namespace hybridscope
