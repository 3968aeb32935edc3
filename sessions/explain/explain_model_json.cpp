#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/model/state_shape.h"
#include "sessions/explain/explain_model.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json states_json(const ModelLayout& layout) {
  Json states = Json::array();
  for (const StateTensorSpec& state : layout.mamba_spec().states)
    states.push_back({{"kind", state.kind == StateKind::conv ? "conv" : "temporal"},
                      {"shape", state.shape},
                      {"dtype", dtype_name(state.dtype)},
                      {"bytes", model_words::state_bytes(state)}});
  return states;
}

Json page_json(const ModelLayout& layout) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  Json page = {{"attn_bytes_per_token", choice.attn_bytes_per_token},
               {"num_kv_heads_per_rank", layout.page_size.num_kv_heads_per_rank},
               {"mamba_page", choice.mamba_page},
               {"alignment", choice.alignment}};
  if (layout.mamba_cache_mode == MambaCacheMode::all) {
    page["base_chunk"] = choice.base_chunk;
    page["chunk"] = choice.chunk;
  }
  page["block_size"] = choice.block_size;
  page["mamba_block_size"] = choice.mamba_block_size;
  page["scheduler_block_size"] = layout.block_sizes.scheduler_block_size;
  page["hash_block_size"] = layout.block_sizes.hash_block_size;
  page["page_size_bytes"] = choice.page_size;
  page["padding_bytes"] = choice.padding;
  page["padding_percent"] = padding_waste_percent(choice);
  return page;
}

Json groups_json(const ModelLayout& layout) {
  const LayerGroups& groups = layout.page_size.layer_groups;
  Json list = Json::array();
  for (const KVCacheGroup& group : layout.kv_cache_config.groups)
    list.push_back({{"kind", group.is_mamba() ? mamba_type_name(layout.mamba_spec().mamba_type)
                                              : std::string_view("attention")},
                    {"block_size", group.block_size()},
                    {"layers", group.layers}});
  return {{"group_size", groups.group_size},
          {"n_min", groups.n_min},
          {"n_max", groups.n_max},
          {"num_padding_layers", groups.num_padding_layers},
          {"groups", std::move(list)}};
}

Json needs_json(const ModelLayout& layout) {
  Json needs = Json::array();
  for (const ModeNeeds& need : layout.page_size.needs) {
    Json row = {{"mamba_cache_mode", mamba_cache_mode_name(need.mamba_cache_mode)},
                {"supported", need.supported}};
    if (need.supported) {
      row["block_size"] = need.block_size;
      row["attention_blocks"] = need.attention_blocks;
      row["mamba_blocks"] = need.mamba_blocks;
      row["total_blocks"] = need.total_blocks;
    }
    needs.push_back(std::move(row));
  }
  return needs;
}

}  // namespace

Json explain_model_json(const ModelLayout& layout) {
  const ModelSpec& model = layout.model;
  const KVCacheSettings& settings = layout.settings;
  return {
      {"model", model.name},
      {"source", model.source},
      {"num_layers", model.layers.size()},
      {"num_attention_layers", layers_of_kind(model, LayerKind::attention).size()},
      {"num_recurrent_layers", layers_of_kind(model, LayerKind::recurrent).size()},
      {"mamba_type", mamba_type_name(layout.mamba_spec().mamba_type)},
      {"dtype", model.dtype},
      {"max_model_len", layout.max_model_len},
      {"mamba_cache_mode", mamba_cache_mode_name(layout.mamba_cache_mode)},
      {"mode_reason", model_words::mode_reason(layout)},
      {"enable_prefix_caching", layout.enable_prefix_caching},
      {"num_speculative_tokens", settings.num_speculative_tokens},
      {"tensor_parallel_size", settings.tensor_parallel_size},
      {"conv_state_layout", settings.conv_state_layout == ConvStateLayout::DS ? "DS" : "SD"},
      {"states", states_json(layout)},
      {"page", page_json(layout)},
      {"layer_groups", groups_json(layout)},
      {"num_blocks", layout.kv_cache_config.num_blocks},
      {"kv_cache_memory_bytes", layout.page_size.kv_cache_memory_bytes},
      {"blocks_a_request_can_need", needs_json(layout)},
  };
}

}  // namespace hybridscope

namespace hybridscope::model_words {

std::int64_t state_bytes(const StateTensorSpec& state) { return mamba_page_bytes({&state, 1}); }

std::string mode_reason(const ModelLayout& layout) {
  const std::string_view type = mamba_type_name(layout.mamba_spec().mamba_type);
  switch (layout.mode_reason) {
    case ModeReason::requested: return "as asked for";
    case ModeReason::default_all:
      return fmt::format(
          "prefix caching is on and {} layers can leave a state at every block boundary", type);
    case ModeReason::default_align:
      if (layout.model.mamba_all_mode == MambaAllMode::supported)
        return "prefix caching is on, and the release takes align where no mode is set";
      return fmt::format("prefix caching is on and {} layers have no mode all", type);
    case ModeReason::none_with_caching:
      return "mode none was asked for, but prefix caching is on, which needs states to start from";
    case ModeReason::all_unsupported:
      return fmt::format(
          "mode all was asked for, but {} layers do not leave a state at every block boundary, so "
          "the engine falls back to align",
          type);
    case ModeReason::prefix_caching_off:
      if (!layout.settings.mamba_cache_mode) return "prefix caching is off";
      return fmt::format(
          "mode {} was asked for, but prefix caching is off, so there is nothing to keep states "
          "for",
          mamba_cache_mode_name(*layout.settings.mamba_cache_mode));
  }
  return {};
}

std::string alignment(const ModelLayout& layout) {
  const std::int64_t kernel = layout.model.kernel_block_alignment;
  const std::string value = grouped_number(layout.page_size.choice.alignment);
  const auto& asked = layout.settings.block_size;
  const auto& preset = layout.model.default_block_size;
  if (!asked && !preset)
    return fmt::format("{}, the attention kernel's smallest block (no block_size was given)",
                       value);
  return fmt::format("{} = max({} the attention kernel's smallest block, {} {})", value, kernel,
                     grouped_number(asked ? *asked : *preset),
                     asked ? "the block_size asked for" : "the model's default block_size");
}

std::string group_size(const LayerGroups& groups) {
  if (groups.n_min == groups.n_max)
    return fmt::format("{} layers, all of a kind", groups.group_size);
  const bool most = groups.group_size == groups.n_max;
  return fmt::format("{} layers, the {} of a kind, because {} is {} 1.5 * {}", groups.group_size,
                     most ? "most" : "fewest", groups.n_max, most ? "below" : "not below",
                     groups.n_min);
}

}  // namespace hybridscope::model_words
