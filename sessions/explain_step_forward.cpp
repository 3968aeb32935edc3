#include <fmt/format.h>

#include "core/base/ids.h"
#include "sessions/explain_sections.h"
#include "sessions/forward_rows.h"

namespace hybridscope::step_sections {
namespace {

std::string place_words(const StatePlace& place) {
  if (place.block == kNullBlock) return fmt::format("column {} = the null block", place.column);
  if (place.block == kPadSlotId) return fmt::format("column {} (outside the table)", place.column);
  return fmt::format("column {} = block {}", place.column, place.block);
}

std::string source_words(const ForwardRow& row, std::int32_t computed) {
  if (!row.has_initial_state) return "starts from zeros";
  if (!row.source_in_range)
    return fmt::format("a = {} points outside the row", row.num_accepted_tokens);
  if (!row.is_decode || !row.counts_given)
    return fmt::format("reads S({}) and the conv window from {}", computed,
                       place_words(row.temporal_source));
  return fmt::format(
      "reads S({}) from column {} + a - 1 = {} + {} - 1: {}; conv window from {}, "
      "positions a - 1 = {}..",
      computed, row.window_column, row.window_column, row.num_accepted_tokens,
      place_words(row.temporal_source), place_words(row.conv_source), row.num_accepted_tokens - 1);
}

// "S(7) to column 0 = block 2, S(8) to column 1 = block 3".
std::string target_words(const ForwardRow& row, std::int32_t computed, std::int32_t block_size) {
  std::string text;
  const auto add = [&](std::int32_t tokens, const StatePlace& place) {
    text +=
        fmt::format("{}S({}) to {}", text.empty() ? "writes " : ", ", tokens, place_words(place));
  };
  for (const StatePlace& place : row.boundary_targets) add((place.column + 1) * block_size, place);
  if (row.is_decode)
    for (std::size_t t = 0; t < row.targets.size(); ++t)
      add(computed + static_cast<std::int32_t>(t) + 1, row.targets[t]);
  else
    add(computed + row.num_query_tokens, row.targets[0]);
  return text;
}

// What the kernel is told against what the row has.
std::string count_warning(const StepToExplain& step, const ForwardRow& row) {
  if (!row.is_decode) return {};
  const std::int32_t own = step.trace.rows[static_cast<std::size_t>(row.row)].num_accepted_tokens;
  if (row.num_accepted_tokens == own) return {};
  return fmt::format("; the row's own count is {} (policy no_draft_step), so this is not its state",
                     own);
}

}  // namespace

void add_attention(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  bool any = false;
  for (const GroupTrace& group : trace.groups) {
    for (const AttentionWrite& write : group.attention_writes) {
      if (!any)
        page.heading("Attention writes", "vLLM v1/worker/block_table.py compute_slot_mapping");
      any = true;
      const RowTrace& row = trace.rows[static_cast<std::size_t>(write.row)];
      const std::int32_t first = trace.scheduled_of(row).num_computed_tokens + write.first_token;
      page.item(
          step.names.request(row.request), name_width(step),
          fmt::format("group {}: positions {}..{} to column {} / {} = {}, block {} slots {}..{}",
                      group.group, first, first + write.num_slots - 1, first, group.block_size,
                      write.column, write.block, write.first_slot,
                      write.first_slot + write.num_slots - 1));
    }
  }
}

void add_forward(const StepToExplain& step, TextPage& page) {
  bool any = false;
  for (const GroupTrace& group : step.trace.groups) {
    if (!group.metadata) continue;
    for (const ForwardRow& row : forward_rows(step.trace, group, step.config.mamba_cache_mode)) {
      if (!any) {
        page.heading("Forward", "vLLM model_executor/layers/mamba/ and fla/ops/");
        page.line("S(n): the recurrent state that has folded the first n tokens.");
      }
      any = true;
      const RowTrace& trace_row = step.trace.rows[static_cast<std::size_t>(row.row)];
      const std::int32_t computed = step.trace.scheduled_of(trace_row).num_computed_tokens;
      page.item(
          step.names.request(trace_row.request), name_width(step),
          fmt::format("{}, {} kernel: {}{}; {}", step.names.group(group.group),
                      row.is_decode ? "decode" : "prefill", source_words(row, computed),
                      count_warning(step, row), target_words(row, computed, group.block_size)));
    }
  }
}

}  // namespace hybridscope::step_sections
