#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/ids.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/metadata_builders.h"
#include "core/metadata/persistent_buffer.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope::step_sections {

namespace {

constexpr std::size_t kNameWidth = 33;
constexpr std::size_t kMostItems = 32;  // shown of one array

// Values of one row, with runs of three or more equal values shortened, until items_left is 0.
std::string row_values(std::span<const std::int64_t> values, std::size_t& items_left) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    if (items_left == 0) return text + fmt::format(" ({} more)", values.size() - i);
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    if (!text.empty()) text += ' ';
    // An element of a persistent buffer that no build wrote.
    text += values[i] == kNeverWritten ? std::string("unset") : std::to_string(values[i]);
    if (end - i < 3) {
      ++i;
    } else {
      text += fmt::format(" x{}", end - i);
      i = end;
    }
    --items_left;
  }
  return text;
}

std::string array_values(const NamedArray& array) {
  std::size_t items_left = kMostItems;
  if (array.dims.size() < 2) {
    std::string text = row_values(array.values, items_left);
    const auto written = static_cast<std::int64_t>(array.values.size());
    if (!array.dims.empty() && written < array.dims[0])
      text += fmt::format("{}{} x{}", text.empty() ? "" : " ", array.fill, array.dims[0] - written);
    return text.empty() ? "empty" : text;
  }
  const auto columns = static_cast<std::size_t>(array.dims[1]);
  const auto rows = static_cast<std::size_t>(array.dims[0]);
  std::string text;
  for (std::size_t r = 0; r < rows; ++r) {
    if (items_left == 0) return text + fmt::format(" ({} more rows)", rows - r);
    text += text.empty() ? "[" : " [";
    text += row_values(std::span(array.values).subspan(r * columns, columns), items_left) + "]";
  }
  return text.empty() ? "empty" : text;
}

bool same_array(const NamedArray& a, const NamedArray& b) {
  return a.name == b.name && a.present == b.present && a.dims == b.dims && a.values == b.values;
}

// Numbers in one paragraph, arrays one per line, absent arrays in a paragraph at the end.
void add_arrays(std::span<const NamedArray> arrays, TextPage& page) {
  std::string numbers;
  std::string absent;
  for (const NamedArray& array : arrays) {
    if (!array.present)
      absent += fmt::format("{}{}", absent.empty() ? "" : ", ", array.name);
    else if (array.dtype == ArrayDtype::host_int || array.dtype == ArrayDtype::host_bool)
      numbers += fmt::format("{}{} {}", numbers.empty() ? "" : ", ", array.name, array.values[0]);
  }
  if (!numbers.empty()) page.item("", 0, numbers);
  for (const NamedArray& array : arrays)
    if (array.present && !array.dims.empty())
      page.item(fmt::format("  {:<{}} {:<5} {}", array.name, kNameWidth,
                            array_dtype_name(array.dtype), array_shape(array)),
                kNameWidth + 18, array_values(array));
  if (!absent.empty()) page.item("", 0, "None: " + absent);
}

// The first mamba group of the same spec: its builder had the same inputs except for block tables.
const GroupTrace* group_of_same_spec(const StepToExplain& step, const GroupTrace& group) {
  const auto& groups = step.config.kv_cache_config.groups;
  for (const GroupTrace& earlier : step.trace.groups)
    if (earlier.group < group.group && earlier.metadata &&
        groups[static_cast<std::size_t>(earlier.group)].spec ==
            groups[static_cast<std::size_t>(group.group)].spec)
      return &earlier;
  return nullptr;
}

void add_group(const StepToExplain& step, const GroupTrace& group, TextPage& page) {
  const auto& spec = std::get<MambaSpec>(
      step.config.kv_cache_config.groups[static_cast<std::size_t>(group.group)].spec);
  std::string title =
      fmt::format("{} by {}{}", step.names.group(group.group),
                  metadata_builder_row(spec.mamba_type).reference_name,
                  group.reused_metadata ? ", reused through update_block_table" : "");
  std::vector<NamedArray> arrays = named_arrays(*group.metadata);
  if (const GroupTrace* same = group_of_same_spec(step, group)) {
    const std::vector<NamedArray> others = named_arrays(*same->metadata);
    std::erase_if(arrays, [&](const NamedArray& array) {
      return std::ranges::any_of(others,
                                 [&](const NamedArray& other) { return same_array(array, other); });
    });
    title += fmt::format(": as {}{}", step.names.group(same->group), arrays.empty() ? "" : " but");
  }
  page.line(title);
  add_arrays(arrays, page);
  if (!step.trace.graph.pads_metadata() || group.replayed_arrays.empty()) return;
  page.item("", 0,
            fmt::format("The replayed graph reads {}: {}", fmt::join(group.replayed_arrays, ", "),
                        replay_words(group, step.trace.step)));
}

std::string place_words(const StatePlace& place) {
  if (place.block == kNullBlock) return fmt::format("column {} (the null block)", place.column);
  if (place.block == kPadSlotId) return fmt::format("column {} (outside the table)", place.column);
  if (place.column < 0) return fmt::format("block {} (in no column of its table)", place.block);
  return fmt::format("column {} (block {})", place.column, place.block);
}

// Token numbers from 1. A conv window holds zeros in place of tokens before the first.
std::string token_range(std::int32_t first, std::int32_t last) {
  if (last < 1) return "zeros";
  if (first == last) return fmt::format("token {}", first);
  return first >= 1 ? fmt::format("tokens {}..{}", first, last)
                    : fmt::format("zeros and tokens 1..{}", last);
}

struct RowToExplain {
  const ForwardPlaces& row;
  std::int32_t computed = 0;     // c
  std::int32_t conv_kernel = 4;  // W
  StatesKept kept = {};
};

std::string temporal_source_words(const RowToExplain& r) {
  const ForwardPlaces& row = r.row;
  std::string text = fmt::format("needs S({}), reads ", r.computed);
  if (row.is_decode && row.counts_given)
    text += fmt::format("column {} + a - 1 = {} + {} - 1 = ", row.window_column, row.window_column,
                        row.num_accepted_tokens);
  return text + place_words(row.temporal_source);
}

std::string conv_source_words(const RowToExplain& r) {
  const std::int32_t offset = r.row.counts_given ? r.row.num_accepted_tokens - 1 : 0;
  return fmt::format("needs conv {}, reads positions {}..{} of {}",
                     token_range(r.computed - r.conv_kernel + 2, r.computed), offset,
                     offset + r.conv_kernel - 2, place_words(r.row.conv_source));
}

// The states that a row reads or writes, limited to the kinds its layers keep.
std::string joined(const StatesKept& kept, const std::string& temporal, const std::string& conv) {
  if (!kept.conv) return temporal;
  return kept.temporal ? temporal + "; " + conv : conv;
}

std::string source_words(const RowToExplain& r) {
  const ForwardPlaces& row = r.row;
  if (row.is_skipped) return "does nothing: it has no tokens, or its first state index is null";
  if (!row.has_initial_state) return "starts from zeros";
  if (!row.source_in_range)
    return fmt::format("a = {} points outside the row", row.num_accepted_tokens);
  return joined(r.kept, temporal_source_words(r), conv_source_words(r));
}

// "writes S(7) to column 0 (block 2), S(8) to column 1 (block 3)".
std::string target_words(const RowToExplain& r) {
  const ForwardPlaces& row = r.row;
  std::string text;
  const auto add = [&](std::int32_t tokens, const StatePlace& place) {
    text +=
        fmt::format("{}S({}) to {}", text.empty() ? "writes " : ", ", tokens, place_words(place));
  };
  const std::int32_t end = r.computed + row.num_query_tokens;
  for (const PassedState& passed : row.passed) add(passed.num_tokens, passed.place);
  if (row.is_decode)
    for (std::size_t t = 0; t < row.targets.size(); ++t)
      add(r.computed + static_cast<std::int32_t>(t) + 1, row.targets[t]);
  else
    add(end, row.targets[0]);
  // With counts given, the window keeps every draft, because any of them may be the last accepted
  // one.
  const std::int32_t first =
      row.is_decode && row.counts_given ? r.computed - r.conv_kernel + 3 : end - r.conv_kernel + 2;
  const std::string conv =
      fmt::format("writes conv {} to positions 0..{} of {}{}", token_range(first, end), end - first,
                  place_words(row.is_decode ? row.targets[0] : row.targets.back()),
                  row.passed.empty() ? "" : ", the windows of the states before it likewise");
  return joined(r.kept, text, conv);
}

// Warns when the kernel gets another accepted count than the row has.
std::string count_warning(const StepToExplain& step, const ForwardPlaces& row) {
  if (!row.is_decode) return {};
  const std::int32_t own = step.trace.rows[static_cast<std::size_t>(row.row)].num_accepted_tokens;
  if (row.num_accepted_tokens == own) return {};
  return row.counts_given
             ? fmt::format("; the row's own count is {}, but {} is passed", own,
                           row.num_accepted_tokens)
             : fmt::format("; the row's own count is {}, but no counts are passed (no_draft_step)",
                           own);
}

// "positions 35..37: column 4 (block 27) slots 3..5"; full columns in the middle are merged.
std::string write_words(std::span<const AttentionWrite> writes, std::int32_t first_position) {
  const AttentionWrite& last = writes.back();
  std::string text = fmt::format("positions {}..{}:", first_position + writes.front().first_token,
                                 first_position + last.first_token + last.num_slots - 1);
  const auto add = [&](const AttentionWrite& write) {
    text += fmt::format("{} column {} (block {}) slots {}..{}", text.ends_with(':') ? "" : ",",
                        write.column, write.block, write.first_slot,
                        write.first_slot + write.num_slots - 1);
  };
  if (writes.size() <= 4) {
    for (const AttentionWrite& write : writes) add(write);
    return text;
  }
  add(writes.front());
  std::vector<std::int32_t> blocks;
  for (const AttentionWrite& write : writes.subspan(1, writes.size() - 2))
    blocks.push_back(write.block);
  text += fmt::format(", columns {}..{} (blocks {}) whole", writes[1].column, last.column - 1,
                      id_list(blocks));
  add(last);
  return text;
}

void add_attention_group(const StepToExplain& step, const GroupTrace& group, TextPage& page) {
  const std::span<const AttentionWrite> writes = group.attention_writes;
  for (std::size_t i = 0; i < writes.size();) {
    std::size_t end = i + 1;
    while (end < writes.size() && writes[end].row == writes[i].row) ++end;
    const RowTrace& row = step.trace.rows[static_cast<std::size_t>(writes[i].row)];
    page.item(step.names.request(row.request), name_width(step),
              fmt::format("group {}, ", group.group) +
                  write_words(writes.subspan(i, end - i), row.num_computed_tokens));
    i = end;
  }
}

std::vector<StatePlace> places_of(const ForwardPlaces& row) {
  std::vector<StatePlace> places = {row.temporal_source, row.conv_source};
  for (const PassedState& passed : row.passed) places.push_back(passed.place);
  places.insert(places.end(), row.targets.begin(), row.targets.end());
  return places;
}

// Groups of one kind do the same in other blocks, which are listed: "column 4 (block 8), column 5
// (block 25)".
std::string other_blocks(const ForwardPlaces& row) {
  std::vector<StatePlace> places = places_of(row);
  std::ranges::sort(places, {}, &StatePlace::column);
  const auto same_column = [](const StatePlace& a, const StatePlace& b) {
    return a.column == b.column;
  };
  places.erase(std::unique(places.begin(), places.end(), same_column), places.end());
  std::string text;
  for (const StatePlace& place : places)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", place_words(place));
  return text;
}

bool same_columns(const ForwardPlaces& a, const ForwardPlaces& b) {
  return a.row == b.row && a.is_decode == b.is_decode && a.is_skipped == b.is_skipped &&
         a.counts_given == b.counts_given && a.num_accepted_tokens == b.num_accepted_tokens &&
         a.has_initial_state == b.has_initial_state && a.source_in_range == b.source_in_range &&
         std::ranges::equal(places_of(a), places_of(b), {}, &StatePlace::column,
                            &StatePlace::column);
}

}  // namespace

void add_metadata(const StepToExplain& step, TextPage& page) {
  const bool any = std::ranges::any_of(
      step.trace.groups, [](const GroupTrace& group) { return group.metadata.has_value(); });
  if (!any) return;
  page.heading("Metadata", "vLLM v1/attention/backends/, build and update_block_table");
  for (const GroupTrace& group : step.trace.groups)
    if (group.metadata) add_group(step, group, page);
}

void add_attention(const StepToExplain& step, TextPage& page) {
  const auto& groups = step.trace.groups;
  if (std::ranges::all_of(groups, [](const GroupTrace& g) { return g.attention_writes.empty(); }))
    return;
  page.heading("Attention writes", "vLLM v1/worker/block_table.py compute_slot_mapping");
  page.line("position p goes to column floor(p / B), slot p mod B");
  for (const GroupTrace& group : groups) add_attention_group(step, group, page);
}

namespace {

const KVCacheGroup& group_of(const StepToExplain& step, std::int32_t group) {
  return step.config.kv_cache_config.groups[static_cast<std::size_t>(group)];
}

void add_dummy_rows(const StepToExplain& step, TextPage& page) {
  const std::vector<DummyRow>& rows = step.trace.dummy_rows;
  if (rows.empty()) return;
  page.heading("Dummy run", "vLLM v1/worker/gpu_model_runner.py _dummy_run");
  page.line(
      "another rank may have work, so this one launches a batch without requests, whose rows "
      "should be null");
  for (const DummyRow& row : rows)
    page.line(fmt::format("row {}, {}: names block {}, whose state a placeholder is folded into",
                          row.row, step.names.group(row.group), row.block));
}

}  // namespace

void add_forward(const StepToExplain& step, TextPage& page) {
  std::vector<ForwardPlaces> first;  // of the first mamba group
  std::int32_t first_group = -1;
  for (const GroupTrace& group : step.trace.groups) {
    if (!group.metadata) continue;
    const auto rows = forward_rows(step.trace, group, step.config.mamba_cache_mode);
    if (first_group < 0) {
      page.heading("Forward", "vLLM model_executor/layers/mamba/ and fla/ops/");
      if (keeps(step.config.kv_cache_config, StateKind::temporal))
        page.line("S(n): the recurrent state that has folded the first n tokens");
      first_group = group.group;
      first = rows;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ForwardPlaces& row = rows[i];
      const RowTrace& trace_row = step.trace.rows[static_cast<std::size_t>(row.row)];
      const std::int32_t computed = trace_row.num_computed_tokens;
      const RowToExplain words{row, computed, step.config.conv_kernel,
                               states_kept(group_of(step, group.group))};
      const bool repeated =
          group.group != first_group && i < first.size() && same_columns(row, first[i]);
      page.item(step.names.request(trace_row.request), name_width(step),
                repeated ? fmt::format("{}: the same with {}", step.names.group(group.group),
                                       other_blocks(row))
                         : fmt::format("{}, {} kernel: {}{}{}", step.names.group(group.group),
                                       row.is_decode ? "decode" : "prefill", source_words(words),
                                       count_warning(step, row),
                                       row.is_skipped ? "" : "; " + target_words(words)));
    }
    for (const PaddingWrite& write :
         padding_writes(step.trace, group, step.config.mamba_cache_mode))
      page.line(
          fmt::format("row {}, {}: a padding row that its kernel takes for a real one folds a "
                      "placeholder into block {}",
                      write.row, step.names.group(group.group), write.block));
  }
  add_dummy_rows(step, page);
}

}  // namespace hybridscope::step_sections
