#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/ids.h"
#include "core/engine/worker_policies.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope::step_sections {

namespace {

constexpr std::size_t kShortestRun = 3;

// Appends ids separated by spaces, with runs shortened; `mark` follows each element.
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

// The columns that the step's forward pass writes (attention: for the keys and values of its
// tokens).
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

// With what the kernels write by the step's metadata: states that a prefill stores on its way, and
// rows that a builder takes for decodes although they are none.
Columns with_targets(Columns window, std::span<const ForwardPlaces> kernel_rows, std::size_t row) {
  const auto add = [&window](const StatePlace& place) {
    if (place.column < 0) return;
    window.first = std::min(window.first, place.column);
    window.last = std::max(window.last, place.column);
  };
  for (const ForwardPlaces& places : kernel_rows) {
    if (places.row != static_cast<std::int32_t>(row)) continue;
    for (const StatePlace& place : places.targets) add(place);
    for (const PassedState& passed : places.passed) add(passed.place);
  }
  return window;
}

// One row of a block table. Columns that differ from `other` get a star.
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

// The worker's row without the null columns after its last block.
std::span<const std::int32_t> worker_row(const GroupTrace& group, std::int32_t row,
                                         std::size_t least) {
  const TensorView<std::int32_t>& table = group.block_table;
  if (!table.present || row >= table.rows) return {};
  const std::int32_t* ids = table.data + static_cast<std::int64_t>(row) * table.cols;
  auto length = static_cast<std::size_t>(table.cols);
  while (length > least && ids[length - 1] == kNullBlock) --length;
  return {ids, length};
}

// Only V2 has slots: it lays out its rows anew in every step, and nothing moves between slots.
bool has_slots(const StepTrace& trace) {
  return std::ranges::any_of(trace.rows, [](const RowTrace& row) { return row.slot >= 0; });
}

std::string count_words(const StepToExplain& step, const RowTrace& row) {
  std::string text = std::to_string(row.num_accepted_tokens);
  if (row.accepted_from.value >= 0 && row.accepted_from != row.request)
    text += " of " + step.names.request(row.accepted_from);
  return text;
}

// The count as the step begins, the request's own, and the step that wrote that.
const std::array<TableColumn, 3> kStartColumns = {{{"start", false}, {"own", true}, {"of", true}}};
std::array<std::string, 3> start_cells(const StepToExplain& step, const RowTrace& row) {
  const auto own = step.own_count(row.request);
  std::string start = std::to_string(row.num_accepted_tokens_before);
  switch (count_origin(step.trace, row, own)) {
    case CountOrigin::unknown: return {start, "?", "?"};
    case CountOrigin::fresh: return {start, "-", "-"};
    case CountOrigin::foreign: start += " of " + step.names.request(row.accepted_from); break;
    case CountOrigin::own:
    case CountOrigin::lost: break;
  }
  if (!own) return {start, "-", "-"};
  return {start, std::to_string(own->num_accepted_tokens), std::to_string(own->step)};
}

// What the rows behind the last request's hold.
std::string padding_words(const StepTrace& trace) {
  const auto first = static_cast<std::int32_t>(trace.rows.size());
  const std::int32_t end = trace.common.num_reqs;
  if (end <= first) return {};
  std::string text = fmt::format("Rows {}..{} are padding", first, end - 1);
  const std::span<const std::int32_t> starts = trace.common.query_start_loc;
  const std::span<const std::int32_t> lengths = trace.common.seq_lens;
  const auto size = static_cast<std::size_t>(end);
  if (starts.size() <= size || lengths.size() < size) return text;
  const bool no_tokens = starts[static_cast<std::size_t>(first)] == starts[size];
  const std::int32_t longest = *std::ranges::max_element(
      lengths.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)));
  text += fmt::format(": {}, seq_len {}{}", no_tokens ? "no tokens" : "with tokens",
                      longest == 0 ? "" : "up to ", longest);
  bool is_known = !trace.groups.empty();
  bool all_null = true;
  for (const GroupTrace& group : trace.groups) {
    const TensorView<std::int32_t>& table = group.block_table;
    is_known = is_known && table.present && table.rows >= end;
    for (std::int32_t r = first; table.present && r < std::min(end, table.rows); ++r)
      for (std::int32_t c = 0; c < table.cols; ++c)
        all_null =
            all_null && table.data[static_cast<std::int64_t>(r) * table.cols + c] == kNullBlock;
  }
  if (!all_null) return text + ", blocks that are not null";
  return is_known ? text + ", null blocks" : text;
}

std::string_view order_words(const PolicySet& policies) {
  const bool every_row = policies.is(FullRowsFirst::every_row);
  switch (policies.get<RowOrder>()) {
    case RowOrder::decodes_then_query_len:
      return every_row ? "1 + K tokens first, then by class, decodes first, then by ascending "
                         "query length"
                       : "class, decodes first, then by ascending query length";
    case RowOrder::query_len:
      return every_row ? "1 + K tokens first, then by ascending query length"
                       : "ascending query length";
    case RowOrder::drafts_then_query_len:
      return every_row ? "whether they have drafts, then 1 + K tokens, then ascending query length"
                       : "whether they have drafts, those of 1 + K tokens first, then by ascending "
                         "query length";
    case RowOrder::verify_then_query_len:
      return every_row ? "1 + K tokens first, then by ascending query length"
                       : "1 + K tokens with drafts first, then by ascending query length";
  }
  return {};
}

}  // namespace

std::size_t name_width(const StepToExplain& step) {
  if (step.name_width > 0) return step.name_width;
  std::size_t width = 6;
  for (const ScheduledTrace& s : step.trace.scheduled)
    width = std::max(width, text_width(step.names.request(s.request)));
  return std::min<std::size_t>(width, 16);
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
  std::vector<std::vector<ForwardPlaces>> kernel_rows;  // [groups]
  for (const GroupTrace& group : trace.groups)
    kernel_rows.push_back(forward_rows(trace, group, step.config.mamba_cache_mode));
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    std::string who = step.names.request(row.request);
    const std::size_t width = name_width(step);
    for (std::size_t g = 0; g < trace.groups.size(); ++g) {
      const GroupTrace& group = trace.groups[g];
      const std::span<const std::int32_t> scheduler =
          step.scheduler_tables.block_ids(row.request, group.group);
      const std::span<const std::int32_t> worker =
          worker_row(group, static_cast<std::int32_t>(r), scheduler.size());
      const Columns window = with_targets(live_window(step, row, group), kernel_rows[g], r);
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

void add_rows(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  if (trace.rows.empty()) return;
  page.heading(
      "Rows",
      step.config.runner == ModelRunner::v2
          ? "vLLM v1/worker/gpu/model_runner.py prepare_inputs, v1/worker/gpu/states.py"
          : "vLLM v1/worker/gpu_model_runner.py _update_states, v1/worker/gpu_input_batch.py");
  const bool slots = has_slots(trace);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const ScheduledTrace& s = trace.scheduled_of(row);
    rows.push_back(
        {std::to_string(r), step.names.request(row.request),
         std::string(row_class_name(row.row_class)), explain_row_origin(row),
         count_words(step, row), std::to_string(row.num_draft_count),
         row.is_prefilling ? "yes" : "no", std::to_string(trace.common.query_start_loc[r]),
         std::to_string(s.num_scheduled_tokens), std::to_string(trace.common.seq_lens[r])});
    if (slots) rows.back().push_back(std::to_string(row.slot));
  }
  std::vector<TableColumn> columns = {
      {"row", true},    {"request", false}, {"class", false}, {"origin", false}, {"a", true},
      {"drafts", true}, {"prefill", false}, {"first", true},  {"tokens", true},  {"seq_len", true}};
  if (slots) columns.push_back({"slot", true});
  const bool counts = step.config.num_speculative_tokens > 0 && step.own_count;
  if (counts) {
    for (const TableColumn& column : kStartColumns) columns.push_back(column);
    for (std::size_t r = 0; r < trace.rows.size(); ++r)
      for (std::string& cell : start_cells(step, trace.rows[r])) rows[r].push_back(std::move(cell));
  }
  page.table(columns, rows);
  if (const std::string padding = padding_words(trace); !padding.empty()) page.line(padding);
  page.line(
      "a: accepted in its last step, bonus token included, after the pre-copies; drafts -1: a row "
      "without; first: the place of its first token in the batch");
  if (counts)
    page.line(
        "start: the accepted count that the row takes as the step begins, \"1 of B\" where it is "
        "another request's; own: what the request's last row left, in the step \"of\"; -: it has "
        "had no row since it was admitted; ?: not known");
  if (slots)
    page.line(
        "slot: where the request's tokens, counts and block table stay from its admission on; rows "
        "are laid out anew in every step, by " +
        std::string(order_words(step.config.policies)));
}

void add_graph(const StepToExplain& step, TextPage& page) {
  const StepTrace& trace = step.trace;
  if (trace.rows.empty()) return;
  page.heading("Graph dispatch", step.config.runner == ModelRunner::v2
                                     ? "vLLM v1/worker/gpu/cudagraph_utils.py CudaGraphManager"
                                     : "vLLM v1/cudagraph_dispatcher.py dispatch");
  page.line(explain_dispatch({.dispatch = trace.graph,
                              .num_tokens = trace.num_scheduled_tokens,
                              .num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                              .uniform_decode = trace.uniform_decode,
                              .num_spec = step.config.num_speculative_tokens,
                              .reason_known = dispatch_reason_known(trace.graph, step.config)}));
}

namespace {

// The blocks of a copy in one group, for the kinds of state that its layers keep.
std::string copy_words(const StepToExplain& step, const StateCopyTrace& copy) {
  const auto& groups = step.config.kv_cache_config.groups;
  // In a judged trace it can be any number.
  const auto group = static_cast<std::size_t>(copy.group);
  const StatesKept kept = group < groups.size() ? states_kept(groups[group]) : StatesKept();
  const std::string temporal = fmt::format("temporal of block {}", copy.temporal_src_block);
  const std::string conv =
      fmt::format("conv positions {}.. of block {}", copy.accept_token_bias, copy.conv_src_block);
  const std::string moved = !kept.conv       ? temporal
                            : !kept.temporal ? conv
                                             : temporal + " and " + conv;
  return fmt::format("{}: {} to block {}", step.names.group(copy.group), moved, copy.dst_block);
}

// What another engine's copy does that its decision does not say.
std::string contradiction_words(const StateCopyDecision& decision, const StateCopyTrace& copy) {
  if (copy.accept_token_bias == decision.accept_token_bias) return {};
  return fmt::format(" (the shift is {} by the rule, {} in the copy)", decision.accept_token_bias,
                     copy.accept_token_bias);
}

}  // namespace

void add_copies(const StepToExplain& step, const CopyLaunch& launch, TextPage& page) {
  for (std::size_t i = 0; i < launch.decisions.size(); ++i) {
    const CopyDecisionTrace& decision = launch.decisions[i];
    const auto own = step.own_count ? step.own_count(decision.request) : std::nullopt;
    page.item(step.names.request(decision.request), name_width(step),
              explain_decision(decision.decision, states_kept(step.config.kv_cache_config),
                               remembered_words(step.trace, decision.request, own)));
    for (const StateCopyTrace& copy : launch.copies)
      if (copy.decision == static_cast<std::int32_t>(i))
        page.item("", name_width(step),
                  copy_words(step, copy) + contradiction_words(decision.decision, copy));
  }
}

}  // namespace hybridscope::step_sections
