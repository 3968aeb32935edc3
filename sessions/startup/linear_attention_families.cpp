#include "sessions/startup/layer_families.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridscope {
void read_qwen3_next(const HfConfigReader& reader, StartupModel& model) {
  const GatedDeltaNetDims dims = gated_delta_net(reader);
  add_layers(model, attending_layers(reader, "linear_attention"), full_attention(reader), dims);
  model.checkpoint_kernel = CheckpointKernel::gdn_flashinfer;
  model.head_k_dim = dims.head_k_dim;
}

void read_qwen3_5(const HfConfigReader& reader, StartupModel& model) {
  read_qwen3_next(reader, model);
  model.ssm_dtype_rule = SsmDtypeRule::from_config;
  model.ssm_dtype = ssm_dtype_of(reader, "mamba_ssm_dtype", "auto");
}
namespace {

struct SparseParts {
  AttentionCache attention;
  IndexKeyCache index;
  RingCache ring;
  bool ring_first = false;
};

void add_attention_parts(StartupModel& model, const std::string& layer, const SparseParts& parts,
                         bool is_draft) {
  const CachedLayer ring{parts.ring, layer + ":raw_key_cache", is_draft};
  const CachedLayer keys{parts.index, layer + ":compressed_key_cache", is_draft};
  model.layers.push_back(parts.ring_first ? ring : keys);
  model.layers.push_back(parts.ring_first ? keys : ring);
  model.layers.push_back({parts.attention, layer, is_draft});
}

SparseParts qwen4_exp_parts(const HfConfigReader& reader) {
  const std::int64_t size = reader.count("indexer_head_dim");
  const std::int64_t ratio = reader.count("indexer_compress_ratio");
  return {full_attention(reader),
          {.head_size = size, .tokens_per_key = ratio},
          {.num_kv_heads = reader.count_or("indexer_kv_heads", 1),
           .head_size = size,
           .tokens_per_key = ratio},
          true};
}

}  // namespace

void read_qwen4_exp(const HfConfigReader& reader, StartupModel& model) {
  read_qwen3_5(reader, model);
  const std::vector<CachedLayer> plain = std::exchange(model.layers, {});
  const SparseParts parts = qwen4_exp_parts(reader);
  const std::vector<std::int64_t> ple = reader.numbers_or("ple_layer_ids", {});
  const std::int64_t rows =
      (reader.count_or("ple_conv_kernel_size", 4) - 1) * reader.count_or("ngram_size", 3);
  const std::int64_t width = reader.count("hidden_size") * reader.count_or("hc_count", 4);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (std::ranges::find(ple, static_cast<std::int64_t>(i) + 1) != ple.end())
      model.layers.push_back(
          {PleShortConvCache{.num_rows = rows, .width = width}, plain[i].name + ":ple"});
    if (std::holds_alternative<AttentionCache>(plain[i].cache))
      add_attention_parts(model, plain[i].name, parts, false);
    else
      model.layers.push_back(plain[i]);
  }
  model.is_block_outermost = true;
}
namespace {

SparseParts glm5_next_parts(const HfConfigReader& reader) {
  const std::int64_t size = reader.count("index_head_dim");
  const std::int64_t pool = reader.count_or("index_kpool", 16);
  // An index key is FP8 with one float32 scale; the ring holds keys and values of the pool.
  return {mla(reader),
          {.head_size = size + 4, .element_size = 1, .tokens_per_key = pool},
          {.num_kv_heads = 2, .head_size = size, .tokens_per_key = pool, .is_power_of_two = true},
          false};
}

}  // namespace

void read_glm5_next(const HfConfigReader& reader, StartupModel& model) {
  const bool nested = reader.has("linear_attn_config");
  const HfConfigReader kda = nested ? reader.object("linear_attn_config") : reader;
  const KdaDims dims{
      .num_heads = kda.count(nested ? "num_heads" : "linear_num_heads"),
      .head_dim = kda.count(nested ? "head_dim" : "linear_head_dim"),
      .conv_kernel_size = kda.count(nested ? "short_conv_kernel_size" : "linear_conv_kernel_dim")};
  const SparseParts parts = glm5_next_parts(reader);
  const std::vector<bool> attends =
      attending_layers(reader, "linear_attention", "deepseek_sparse_attention");
  for (std::size_t i = 0; i < attends.size(); ++i) {
    const std::string name = std::to_string(i);
    if (attends[i])
      add_attention_parts(model, name, parts, false);
    else
      model.layers.push_back({StateCache(dims), name});
  }
  model.ssm_dtype_rule = SsmDtypeRule::kda;
  model.is_block_outermost = true;
  model.sparse_block_multiple = 512;
  model.stride_alignment = 1024;
  model.checkpoint_kernel = CheckpointKernel::kda_flash;
  model.head_k_dim = dims.head_dim;
}

void read_olmo_hybrid(const HfConfigReader& reader, StartupModel& model) {
  add_layers(model, attending_layers(reader, "linear_attention"), full_attention(reader),
             gated_delta_net(reader));
}

// linear_attn_config numbers layers from 1.
void read_kimi(const HfConfigReader& reader, StartupModel& model) {
  const HfConfigReader kda = reader.object("linear_attn_config");
  const KdaDims dims{.num_heads = kda.count("num_heads"),
                     .head_dim = kda.count("head_dim"),
                     .conv_kernel_size = kda.count("short_conv_kernel_size")};
  const std::int64_t layers = num_layers(reader);
  const std::vector<bool> attends = listed_layers(kda, "full_attn_layers", layers, 1);
  if (kda.has("kda_layers")) {
    const std::vector<bool> recurs = listed_layers(kda, "kda_layers", layers, 1);
    for (std::size_t i = 0; i < attends.size(); ++i)
      if (!attends[i] && !recurs[i])
        kda.fail(
            fmt::format("layer {} is in neither \"kda_layers\" nor \"full_attn_layers\"", i + 1));
  }
  add_layers(model, attends, mla(reader), dims);
  model.ssm_dtype_rule = SsmDtypeRule::kda;
  // Only the class with a full-rank gate can run FlashKDA, and only with a bounded one.
  if (kda.flag_or("use_full_rank_gate", false) && kda.has("gate_lower_bound"))
    model.checkpoint_kernel = CheckpointKernel::kda_flash;
  model.head_k_dim = dims.head_dim;
}

namespace {

// attn_type_list: 0 linear, 1 full attention.
std::vector<bool> attn_type_list(const HfConfigReader& reader) {
  std::vector<bool> attends;
  for (const std::int64_t type : reader.numbers("attn_type_list")) {
    if (type > 1)
      reader.fail(
          fmt::format("key \"attn_type_list\": layer {} is {}, expected 0 (linear) or 1 "
                      "(full attention)",
                      attends.size(), type));
    attends.push_back(type == 1);
  }
  if (std::ssize(attends) != num_layers(reader))
    reader.fail(fmt::format("key \"attn_type_list\" has {} layers, but \"num_hidden_layers\" is {}",
                            attends.size(), num_layers(reader)));
  return attends;
}

}  // namespace

// No release that is modelled has it.
void read_minimax(const HfConfigReader& reader, StartupModel& model) {
  const std::vector<bool> attends = reader.has("layer_types")
                                        ? attending_layers(reader, "linear_attention")
                                        : attn_type_list(reader);
  const AttentionCache attention = full_attention(reader);
  add_layers(model, attends, attention,
             LinearAttentionDims{.num_heads = reader.count("num_attention_heads"),
                                 .head_dim = attention.head_size});
  model.chunk_size = reader.count_or("block_size", 256);
}

namespace {

// The configuration class of transformers sets head_dim to qk_rope_head_dim.
std::int64_t bailing_head_dim(const HfConfigReader& reader) {
  return reader.count("qk_rope_head_dim");
}

std::vector<bool> bailing_layers(const HfConfigReader& reader) {
  const std::int64_t layers = num_layers(reader);
  const std::int64_t group = reader.count("layer_group_size");
  std::vector<bool> attends;
  for (std::int64_t i = 0; i < layers; ++i)
    attends.push_back((i + 1) % group == 0 || i >= layers / group * group);
  return attends;
}

}  // namespace

void read_bailing_v2_5(const HfConfigReader& reader, StartupModel& model) {
  add_layers(model, bailing_layers(reader), mla(reader),
             LinearAttentionDims{.num_heads = reader.count("num_attention_heads"),
                                 .head_dim = bailing_head_dim(reader)});
}

void read_bailing_v3(const HfConfigReader& reader, StartupModel& model) {
  add_layers(model, bailing_layers(reader), mla(reader),
             KdaDims{.num_heads = reader.count("num_attention_heads"),
                     .head_dim = bailing_head_dim(reader),
                     .conv_kernel_size = reader.count("short_conv_kernel_size")});
  model.ssm_dtype_rule = SsmDtypeRule::float32_always;
}

void read_alice(const HfConfigReader& reader, StartupModel& model) {
  add_layers(model, attending_layers(reader, "linear_attention"), full_attention(reader),
             KdaDims{.num_heads = reader.count("linear_num_key_heads"),
                     .head_dim = reader.count("linear_key_head_dim"),
                     .conv_kernel_size = reader.count("linear_conv_kernel_dim")});
  model.ssm_dtype_rule = SsmDtypeRule::float32_always;
}

// Layers that all attend: to everything, or to a window or a chunk of it where layer_types say so.

void read_attention_only(const HfConfigReader& reader, StartupModel& model) {
  const AttentionCache full = full_attention(reader);
  std::vector<std::string> types;
  if (reader.has("layer_types")) types = reader.texts("layer_types");
  for (std::int64_t i = 0; i < num_layers(reader); ++i) {
    AttentionCache cache = full;
    const std::string type =
        i < std::ssize(types) ? types[static_cast<std::size_t>(i)] : "full_attention";
    if (type == "sliding_attention") {
      cache.kind = AttentionKind::sliding_window;
      cache.window = reader.count("sliding_window");
    } else if (type == "chunked_attention") {
      cache.kind = AttentionKind::chunked_local;
      cache.window = reader.count("attention_chunk_size");
    }
    model.layers.push_back({cache, std::to_string(i)});
  }
}

void read_deepseek(const HfConfigReader& reader, StartupModel& model) {
  for (std::int64_t i = 0; i < num_layers(reader); ++i)
    model.layers.push_back({mla(reader), std::to_string(i)});
}

void add_sparse_draft(const HfConfigReader& reader, const std::string& name, StartupModel& model) {
  const bool is_qwen = reader.has("indexer_head_dim");
  const SparseParts parts = is_qwen ? qwen4_exp_parts(reader) : glm5_next_parts(reader);
  add_attention_parts(model, name, parts, true);
}

}  // namespace hybridscope
