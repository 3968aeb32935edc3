#include "sessions/explain/explain_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/model/model_policies.h"
#include "core/model/state_shape.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::size_t kColumns = 100;

// Text with lines of at most kColumns; `hanging` indents the later lines of a paragraph.
class Report {
 public:
  void title(std::string_view text) { fmt::format_to(std::back_inserter(text_), "{}\n", text); }

  void heading(std::string_view text) { fmt::format_to(std::back_inserter(text_), "\n{}\n", text); }

  // "  label        words", wrapped under the words.
  void row(std::string_view label, std::string_view words) {
    paragraph(fmt::format("  {:<13} ", label), 16, words);
  }

  // A line that is already laid out, at most kColumns wide.
  void table_line(std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "  {}\n", text);
  }

  void line(std::string_view words) { paragraph("  ", 2, words); }

  std::string take() { return std::move(text_); }

 private:
  void paragraph(std::string line, std::size_t hanging, std::string_view words) {
    bool first = true;
    while (!words.empty()) {
      const std::size_t end = std::min(words.find(' '), words.size());
      if (!first && line.size() + 1 + end > kColumns) {
        text_ += line + "\n";
        line.assign(hanging, ' ');
        first = true;
      }
      if (!first) line += ' ';
      line += words.substr(0, end);
      words.remove_prefix(std::min(end + 1, words.size()));
      first = false;
    }
    text_ += line + "\n";
  }

  std::string text_;
};

std::string_view type_name(const ModelLayout& layout) {
  return mamba_type_name(layout.mamba_spec().mamba_type);
}

void add_model(const ModelLayout& layout, Report& report) {
  const ModelSpec& model = layout.model;
  const auto stateless = layers_of_kind(model, LayerKind::stateless).size();
  report.row("layers",
             fmt::format("{}: {} attention, {} {}{}", model.layers.size(),
                         layers_of_kind(model, LayerKind::attention).size(),
                         layers_of_kind(model, LayerKind::recurrent).size(), type_name(layout),
                         stateless > 0 ? fmt::format(", {} without cache", stateless) : ""));
  report.row("dtype", model.dtype);
  report.row("length", grouped_number(layout.max_model_len) + " tokens at most");
  report.row("dimensions", model.source);
}

void add_mode(const ModelLayout& layout, Report& report) {
  report.heading("Mode");
  report.row("mode", fmt::format("{}: {}", mamba_cache_mode_name(layout.mamba_cache_mode),
                                 model_words::mode_reason(layout)));
  report.row("caching", layout.enable_prefix_caching
                            ? "prefix caching is on"
                            : "prefix caching is off; mode none keeps one state a request");
  report.row("drafts", fmt::format("K = {} speculative tokens, tensor parallel size {}",
                                   layout.settings.num_speculative_tokens,
                                   layout.settings.tensor_parallel_size));
}

std::string conv_words(const ModelLayout& layout, const StateTensorSpec& state) {
  const bool ds = layout.settings.conv_state_layout == ConvStateLayout::DS;
  const std::int64_t state_len = state.shape[ds ? 1 : 0];
  const std::int64_t history = conv_kernel_of(layout.model.recurrent) - 1;
  return fmt::format(
      "{}, state_len {} = {} of history{}", ds ? "DS (dim, state_len)" : "SD (state_len, dim)",
      state_len, history,
      state_len > history ? fmt::format(" + {} for drafts", state_len - history) : "");
}

// Known bug 25: does the conv state differ from what the reference allocates?
void add_conv_sizing_note(const ModelLayout& layout, Report& report) {
  const KVCacheSettings& settings = layout.settings;
  const MambaType type = layout.mamba_spec().mamba_type;
  if (settings.num_speculative_tokens == 0 || conv_kernel_of(layout.model.recurrent) == 0) return;
  const bool shape_takes_num_spec = type == MambaType::mamba2 || type == MambaType::gdn_attention;
  if (shape_takes_num_spec && (layout.model.spec_in_state_shape == SpecInStateShape::passed ||
                               settings.conv_state_sizing == ConvStateSizing::by_state_shape))
    return;
  if (settings.conv_state_sizing == ConvStateSizing::kernel_plus_spec)
    report.line(
        "The reference leaves the drafts out of this model's conv state; here they have room, so "
        "that a verify step does not write past its end.");
  else
    report.line(
        "As in the reference, the drafts have no room in this model's conv state: a verify step "
        "writes past its end.");
}

void add_states(const ModelLayout& layout, Report& report) {
  report.heading("State of one recurrent layer, in one block on one rank");
  for (const StateTensorSpec& state : layout.mamba_spec().states) {
    const bool conv = state.kind == StateKind::conv;
    report.row(conv ? "conv" : "temporal",
               fmt::format("[{}] {} = {} bytes{}", fmt::join(state.shape, ", "),
                           dtype_name(state.dtype), grouped_number(model_words::state_bytes(state)),
                           conv ? "; " + conv_words(layout, state) : ""));
  }
  report.row("together", grouped_number(layout.page_size.choice.mamba_page) + " bytes");
  add_conv_sizing_note(layout, report);
}

void add_attention(const ModelLayout& layout, Report& report) {
  const PageSizeExplanation& page = layout.page_size;
  const AttentionDims& dims = layout.model.attention;
  if (page.choice.attn_bytes_per_token == 0) return;
  report.heading("One token in one attention layer on one rank");
  if (dims.attention_type == AttentionType::mla)
    report.row("latent", fmt::format("({} kv_lora_rank + {} rope) * {} bytes = {} bytes (MLA: one "
                                     "vector instead of keys and values)",
                                     dims.kv_lora_rank, dims.qk_rope_head_dim, page.attn_dtype_size,
                                     grouped_number(page.choice.attn_bytes_per_token)));
  else
    report.row("keys, values",
               fmt::format("2 * {} kv heads * {} head size * {} bytes = {} bytes",
                           page.num_kv_heads_per_rank, dims.head_size, page.attn_dtype_size,
                           grouped_number(page.choice.attn_bytes_per_token)));
}

void add_hybrid_block_size(const ModelLayout& layout, Report& report) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  report.line(
      "All groups take blocks from one pool, so a block of attention must be at least as large as "
      "a state, and the state is padded to it.");
  report.row("alignment", model_words::alignment(layout));
  if (choice.mamba_cache_mode == MambaCacheMode::all) {
    report.row("chunk",
               fmt::format("{} = lcm({} {}, {} alignment)", grouped_number(choice.chunk),
                           grouped_number(choice.base_chunk),
                           layout.settings.mamba_block_size ? "mamba_block_size" : "chunk size",
                           grouped_number(choice.alignment)));
    report.row(
        "block_size",
        fmt::format("{} tokens = {} * ceil(ceil({} / {}) / {})", grouped_number(choice.block_size),
                    grouped_number(choice.chunk), grouped_number(choice.mamba_page),
                    grouped_number(choice.attn_bytes_per_token), grouped_number(choice.chunk)));
  } else {
    report.row(
        "block_size",
        fmt::format("{} tokens = {} * ceil({} / ({} * {}))", grouped_number(choice.block_size),
                    grouped_number(choice.alignment), grouped_number(choice.mamba_page),
                    grouped_number(choice.alignment), grouped_number(choice.attn_bytes_per_token)));
  }
  report.row("page",
             fmt::format("{} bytes = {} * {}; {} of them ({:.3f} % of the state) are padding",
                         grouped_number(choice.page_size), grouped_number(choice.block_size),
                         grouped_number(choice.attn_bytes_per_token),
                         grouped_number(choice.padding), padding_waste_percent(choice)));
}

void add_recurrent_block_size(const ModelLayout& layout, Report& report) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  report.line("The model has no attention layer, so no page has to match and nothing is padded.");
  if (choice.mamba_cache_mode == MambaCacheMode::all)
    report.row(
        "block_size",
        fmt::format("{} tokens = lcm({} chunk, {} alignment)", grouped_number(choice.block_size),
                    grouped_number(choice.base_chunk), grouped_number(choice.alignment)));
  else
    report.row("block_size",
               fmt::format("{} tokens: {}", grouped_number(choice.block_size),
                           layout.settings.block_size ? "as asked for" : "the chunk size"));
  report.row("page", grouped_number(choice.page_size) + " bytes = the state");
}

void add_block_size(const ModelLayout& layout, Report& report) {
  report.heading("Block size and page");
  if (layout.page_size.choice.attn_bytes_per_token > 0)
    add_hybrid_block_size(layout, report);
  else
    add_recurrent_block_size(layout, report);
  const std::int64_t mamba_block_size = layout.page_size.choice.mamba_block_size;
  report.row("mamba block",
             layout.mamba_cache_mode == MambaCacheMode::none
                 ? grouped_number(mamba_block_size) + " tokens: one state for the request"
                 : grouped_number(mamba_block_size) + " tokens between two snapshots");
  if (!layout.enable_prefix_caching) return;
  const SchedulerBlockSizes& sizes = layout.block_sizes;
  report.row("prefix hits",
             fmt::format("in steps of {} tokens, the first after {}{}; tokens are hashed by {}",
                         grouped_number(sizes.scheduler_block_size),
                         grouped_number(sizes.scheduler_block_size),
                         layout.settings.num_speculative_tokens > 0
                             ? " (EAGLE and MTP drafts give up one block of it)"
                             : "",
                         grouped_number(sizes.hash_block_size)));
  if (sizes.scheduler_block_size >= layout.max_model_len)
    report.line(fmt::format(
        "A block of {} tokens is not shorter than the longest request ({} tokens), so no prefix "
        "can ever be hit.",
        grouped_number(sizes.scheduler_block_size), grouped_number(layout.max_model_len)));
}

void add_groups(const ModelLayout& layout, Report& report) {
  const LayerGroups& groups = layout.page_size.layer_groups;
  report.heading("Groups: layers that share one block table");
  report.row("group size", model_words::group_size(groups));
  std::int32_t number = 0;
  for (const KVCacheGroup& group : layout.kv_cache_config.groups) {
    const auto missing = groups.group_size - static_cast<std::int32_t>(group.layers.size());
    report.row(fmt::format("group {}", number++),
               fmt::format("{}, {} layers{}: {}",
                           group.is_mamba() ? type_name(layout) : "attention", group.layers.size(),
                           missing > 0 ? fmt::format(" and {} of padding", missing) : "",
                           fmt::join(group.layers, ", ")));
  }
  if (groups.num_padding_layers > 0)
    report.row(
        "padding",
        fmt::format("{} of {} layer slots hold nothing in any block", groups.num_padding_layers,
                    groups.group_size * static_cast<std::int32_t>(groups.groups.size())));
}

void add_blocks(const ModelLayout& layout, Report& report) {
  const PageSizeExplanation& page = layout.page_size;
  report.heading("Blocks");
  const std::string count = grouped_number(layout.kv_cache_config.num_blocks);
  if (page.kv_cache_memory_bytes > 0)
    report.row("pool",
               fmt::format("{} blocks = floor({} bytes / ({} * {} layers)); block 0 is the null "
                           "block and is never given out",
                           count, grouped_number(page.kv_cache_memory_bytes),
                           grouped_number(page.choice.page_size), page.layer_groups.group_size));
  else
    report.row(
        "pool",
        fmt::format(
            "{} blocks, as asked for ({} bytes); block 0 is the null block and is never given out",
            count,
            grouped_number(layout.kv_cache_config.num_blocks * page.choice.page_size *
                           page.layer_groups.group_size)));
}

void add_needs(const ModelLayout& layout, Report& report) {
  report.heading(fmt::format("Blocks that a request of {} tokens can need",
                             grouped_number(layout.max_model_len)));
  constexpr const char* kColumnsOfTable = "{:<8}{:>12}{:>18}{:>14}{:>16}";
  report.table_line(fmt::format(kColumnsOfTable, "mode", "block_size", "attention group",
                                "mamba group", "all groups"));
  for (const ModeNeeds& need : layout.page_size.needs) {
    const std::string_view name = mamba_cache_mode_name(need.mamba_cache_mode);
    if (!need.supported)
      report.table_line(fmt::format("{:<8}not available", name));
    else
      report.table_line(
          fmt::format(kColumnsOfTable, name, grouped_number(need.block_size),
                      need.attention_blocks > 0 ? grouped_number(need.attention_blocks) : "-",
                      grouped_number(need.mamba_blocks), grouped_number(need.total_blocks)));
    const std::int64_t usable = layout.kv_cache_config.num_blocks - 1;
    if (need.mamba_cache_mode == layout.mamba_cache_mode && need.total_blocks > usable)
      report.line(
          fmt::format("The pool has {} blocks to give out, so in mode {} a request of that length "
                      "cannot be served.",
                      grouped_number(usable), name));
  }
}

}  // namespace

std::string explain_model(const ModelLayout& layout) {
  Report report;
  report.title(layout.model.name);
  add_model(layout, report);
  add_mode(layout, report);
  add_states(layout, report);
  add_attention(layout, report);
  add_block_size(layout, report);
  add_groups(layout, report);
  add_blocks(layout, report);
  add_needs(layout, report);
  return report.take();
}

}  // namespace hybridscope
