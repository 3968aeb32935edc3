#include <fmt/format.h>

#include <algorithm>

#include "core/base/ids.h"
#include "sessions/explain/explain_sections.h"

namespace hybridscope::step_sections {
namespace {

constexpr std::size_t kShortestRun = 3;

// Appends ids, runs written short, separated by spaces; `mark` goes behind each element.
void append_ids(std::span<const std::int32_t> ids, std::string_view mark, std::string& text) {
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t ascending = i + 1;
    while (ascending < ids.size() && ids[ascending] == ids[ascending - 1] + 1) ++ascending;
    std::size_t equal = i + 1;
    while (equal < ids.size() && ids[equal] == ids[i]) ++equal;
    if (!text.empty() && text.back() != '[') text += ' ';
    std::size_t end = i + 1;
    if (ids[i] == kNullBlock && equal - i > 1) {
      text += fmt::format("0 x{}{}", equal - i, mark);
      end = equal;
    } else if (ids[i] != kNullBlock && ascending - i >= kShortestRun) {
      text += fmt::format("{}-{}{}", ids[i], ids[ascending - 1], mark);
      end = ascending;
    } else {
      text += fmt::format("{}{}", ids[i], mark);
    }
    i = end;
  }
}

struct Columns {
  std::int32_t first = 0;
  std::int32_t last = -1;  // inclusive
  bool contains(std::size_t column) const {
    const auto c = static_cast<std::int32_t>(column);
    return c >= first && c <= last;
  }
};

// Columns that the step's forward pass writes (attention: keys and values of its tokens).
Columns live_window(const StepToExplain& step, const RowTrace& row, const GroupTrace& group) {
  const ScheduledTrace& s = step.trace.scheduled_of(row);
  const std::int32_t computed = row.num_computed_tokens;
  const std::int32_t end = computed + s.num_scheduled_tokens;
  const std::int32_t last = std::max(end - 1, 0) / group.block_size;
  if (!group.is_mamba) return {computed / group.block_size, last};
  const std::int32_t spec = step.config.num_speculative_tokens;
  if (step.config.mamba_cache_mode == MambaCacheMode::all)
    return {computed / group.block_size, last + (s.num_draft_tokens > 0 ? spec : 0)};
  return {last, last + spec};
}

// One table row; columns in which it differs from `other` get a star.
std::string table_words(std::span<const std::int32_t> ids, std::span<const std::int32_t> other,
                        const Columns& window) {
  const auto differs = [&](std::size_t column) {
    return column < other.size() ? ids[column] != other[column]
                                 : !other.empty() && ids[column] != kNullBlock;
  };
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    const bool live = window.contains(i);
    const bool marked = differs(i);
    std::size_t end = i + 1;
    while (end < ids.size() && window.contains(end) == live && differs(end) == marked) ++end;
    if (live && (i == 0 || !window.contains(i - 1))) text += text.empty() ? "[" : " [";
    append_ids(ids.subspan(i, end - i), marked ? "*" : "", text);
    if (live && (end == ids.size() || !window.contains(end))) text += "]";
    i = end;
  }
  return text.empty() ? "none" : text;
}

// The worker's row without the null columns behind its last block.
std::span<const std::int32_t> worker_row(const GroupTrace& group, std::int32_t row,
                                         std::size_t least) {
  const TensorView<std::int32_t>& table = group.block_table;
  if (!table.present || row >= table.rows) return {};
  const std::int32_t* ids = table.data + static_cast<std::int64_t>(row) * table.cols;
  auto length = static_cast<std::size_t>(table.cols);
  while (length > least && ids[length - 1] == kNullBlock) --length;
  return {ids, length};
}

}  // namespace

std::size_t name_width(const StepToExplain& step) {
  std::size_t width = 6;
  for (const ScheduledTrace& s : step.trace.scheduled)
    width = std::max(width, text_width(step.names.request(s.request)));
  return std::min<std::size_t>(width, 16);
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string id_list(std::span<const std::int32_t> ids) {
  std::string text;
  append_ids(ids, "", text);
  return text;
}

void add_tables(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  if (trace.rows.empty()) return;
  page.heading("Block tables",
               "vLLM v1/core/single_type_kv_cache_manager.py, v1/worker/block_table.py");
  bool any_difference = false;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    std::string who = step.names.request(row.request);
    const std::size_t width = name_width(step);
    for (const GroupTrace& group : trace.groups) {
      const std::span<const std::int32_t> scheduler =
          step.scheduler_tables.block_ids(row.request, group.group);
      const std::span<const std::int32_t> worker =
          worker_row(group, static_cast<std::int32_t>(r), scheduler.size());
      const Columns window = live_window(step, row, group);
      const bool equal = std::ranges::equal(scheduler, worker);
      any_difference = any_difference || !equal;
      const auto label = [&](std::string_view whose) {
        std::string text =
            pad_text(who, width) + fmt::format("  group {:<3} {}", group.group, whose);
        who.clear();
        return text;
      };
      page.item(label(equal ? "both" : "scheduler"), width + 21,
                table_words(scheduler, {}, window));
      if (!equal) page.item(label("worker"), width + 21, table_words(worker, scheduler, window));
    }
  }
  page.line(
      "Columns from 0 on; 0: the null block (no block), 0 x5: five of them, 7-9: blocks 7 8 9");
  page.line("[ ] encloses the columns that this step's forward pass can write");
  if (any_difference)
    page.line(
        "* differs from the scheduler, which puts the null block where a state is no longer needed "
        "and moves spare blocks; the worker only appends. Only live columns have to agree");
}

}  // namespace hybridscope::step_sections
