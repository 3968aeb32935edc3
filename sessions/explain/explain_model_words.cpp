#include "sessions/explain/explain_model_words.h"
#include "sessions/text/number_words.h"

#include <fmt/core.h>

namespace hybridscope::model_words {

std::int64_t state_bytes(const StateTensorSpec& state) { return mamba_page_bytes({&state, 1}); }

std::string mode_reason(const ModelLayout& layout) {
  const std::string_view type = mamba_type_name(layout.mamba_spec().mamba_type);
  switch (layout.mode_reason) {
    case ModeReason::requested:
      return "as asked for";
    case ModeReason::default_all:
      return fmt::format(
          "prefix caching is on and {} layers can leave a state at every block "
          "boundary",
          type);
    case ModeReason::default_align:
      if (layout.model.mamba_all_mode == MambaAllMode::supported)
        return "prefix caching is on, and the release takes align where no mode is set";
      return fmt::format("prefix caching is on and {} layers have no mode all", type);
    case ModeReason::none_with_caching:
      return "mode none was asked for, but prefix caching is on, which needs states to start from";
    case ModeReason::all_unsupported:
      return fmt::format(
          "mode all was asked for, but {} layers do not leave a state at every "
          "block boundary, so the engine falls back to align",
          type);
    case ModeReason::prefix_caching_off:
      if (!layout.settings.mamba_cache_mode) return "prefix caching is off";
      return fmt::format(
          "mode {} was asked for, but prefix caching is off, so there is nothing to "
          "keep states for",
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
