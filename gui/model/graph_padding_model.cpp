#include "gui/model/graph_padding_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "core/base/ids.h"
#include "core/engine/scheduler_setup.h"
#include "core/metadata/graph_padding.h"
#include "gui/model/block_verdict.h"
#include "gui/model/metadata_model.h"
#include "gui/model/step_arrays.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_parts.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMostReal = 6;
constexpr std::int64_t kMostPadding = 12;
constexpr std::int64_t kMostColumns = 6;

std::string_view kind_words(const CudagraphKey& key) {
  if (key.mode == CUDAGraphMode::piecewise) return "any batch, between the attention layers";
  return key.uniform ? "uniform decodes" : "any batch";
}

bool is_picked(const CudagraphKey& key, const StepView& view) {
  const CudagraphDispatch& graph = view.trace.graph;
  if (key.mode != graph.runtime_mode || key.num_tokens != graph.num_tokens_padded) return false;
  return key.mode != CUDAGraphMode::full ||
         key.uniform == (dispatch_reason_known(graph, view.config)
                             ? graph.reason == CudagraphDispatchReason::uniform_decode_graph
                             : view.trace.uniform_decode);
}

void add_captured(const StepView& view, GraphPaddingModel& model) {
  const auto resolved = resolve_cudagraphs(view.config);
  if (!resolved.ok()) {
    model.setting = "not known: " + resolved.error().message;
    return;
  }
  model.setting = cudagraph_mode_name(resolved.value().cudagraph_mode);
  const auto keys = cudagraph_keys(captured_graphs(view.config, resolved.value()));
  for (const CudagraphKey& key : keys) {
    const std::string title = fmt::format("{}: {}", cudagraph_mode_name(key.mode), kind_words(key));
    if (model.captured.empty() || model.captured.back().title != title)
      model.captured.push_back({.title = title, .sizes = {}});
    CapturedGraphs& graphs = model.captured.back();
    // Two graphs of one size differ in their rows, which are not listed here.
    if (graphs.sizes.empty() || graphs.sizes.back() != key.num_tokens)
      graphs.sizes.push_back(key.num_tokens);
    if (is_picked(key, view)) graphs.picked = static_cast<std::ptrdiff_t>(graphs.sizes.size()) - 1;
  }
}

// How many elements of the first dimension belong to real rows, and how many a build wrote.
struct RowCounts {
  std::int64_t real = 0;
  std::int64_t rows = 0;  // of the batch, padding rows included
  std::int64_t written = 0;
};

class ArrayPadding {
 public:
  explicit ArrayPadding(const StepView& view)
      : num_real_(static_cast<std::int64_t>(view.trace.rows.size())),
        num_rows_(view.trace.common.num_reqs),
        num_tokens_(view.trace.num_scheduled_tokens) {}

  // An array as an earlier step left it.
  PaddedArray describe_left(const NamedArray& array, std::int64_t step) const {
    PaddedArray shown{
        .name = std::string(array.name), .note = fmt::format("from step {}", step), .stale = true};
    add_elements(array, 0, array.dims.empty() ? 0 : array.dims[0], kMostPadding,
                 PaddedPart::left_over, shown);
    return shown;
  }

  PaddedArray describe(const NamedArray& array) const {
    PaddedArray shown{.name = std::string(array.name)};
    const std::int64_t size = array.dims.empty() ? 0 : array.dims[0];
    const RowCounts extent = extent_of(array, size);
    add_elements(array, 0, extent.real, kMostReal, PaddedPart::real, shown);
    add_elements(array, extent.real, extent.rows, kMostPadding, PaddedPart::padding, shown);
    add_elements(array, extent.rows, extent.written, kMostPadding, PaddedPart::no_row, shown);
    add_elements(array, extent.written, size, kMostPadding, PaddedPart::left_over, shown);
    const std::string words = padding_words(array, extent);
    if (!words.empty())
      shown.note = (extent.real < extent.rows ? "padding: " : "behind the last row: ") + words;
    if (extent.written < size)
      shown.note += fmt::format("{}{} elements behind were not written in this step",
                                shown.note.empty() ? "" : "; ", size - extent.written);
    return shown;
  }

 private:
  RowCounts extent_of(const NamedArray& array, std::int64_t size) const {
    const auto up_to = [&](std::int64_t count) { return std::min(count, size); };
    switch (array.elements) {
      case ArrayElements::row_starts: return {up_to(num_real_ + 1), up_to(num_rows_ + 1), size};
      case ArrayElements::token_indices: return {up_to(num_tokens_), up_to(num_tokens_), size};
      case ArrayElements::block_columns:  // nothing was written past the last row
        return {up_to(num_real_), up_to(num_rows_), up_to(num_rows_)};
      default: return {up_to(num_real_), up_to(num_rows_), size};
    }
  }

  static std::string row_text(const NamedArray& array, std::int64_t row) {
    const std::int64_t columns = num_columns(array);
    std::string text;
    for (std::int64_t column = 0; column < std::min(columns, kMostColumns); ++column)
      text += (column == 0 ? "" : " ") + element_text(element_at(array, row * columns + column));
    return columns > kMostColumns ? text + " .." : text;
  }

  // The first ones and the last one.
  static void add_elements(const NamedArray& array, std::int64_t first, std::int64_t last,
                           std::int64_t most, PaddedPart part, PaddedArray& shown) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t left_out = last - row - 1;
      if (row - first == most - 1 && left_out > 1) {
        shown.elements.push_back({PaddedPart::gap, fmt::format("{} more", left_out)});
        row = last - 1;
      }
      shown.elements.push_back({part, row_text(array, row)});
    }
  }

  static std::string padding_words(const NamedArray& array, const RowCounts& extent) {
    if (extent.real >= extent.written) return "";
    const std::int64_t columns = num_columns(array);
    const auto holds = [&](std::int64_t value) {
      for (std::int64_t i = extent.real * columns; i < extent.written * columns; ++i)
        if (element_at(array, i) != value) return false;
      return true;
    };
    if (array.elements == ArrayElements::row_starts)
      return extent.real > 0 && holds(element_at(array, extent.real - 1))
                 ? "the last offset again: no tokens"
                 : "not the last offset again";
    if (array.elements == ArrayElements::block_ids)
      return holds(kNullBlock) ? "the null block" : "not the null block alone";
    if (array.elements == ArrayElements::accepted_counts && holds(1)) return "a count of 1";
    if (array.dtype == ArrayDtype::boolean && holds(0)) return "false";
    if (array.elements == ArrayElements::sequence_lengths && holds(0)) return "length 0";
    if (holds(-1)) return "-1: no slot";
    return "as shown";
  }

  std::int64_t num_real_;
  std::int64_t num_rows_;
  std::int64_t num_tokens_;
};

PaddedGroup group_of(const StepTrace& trace, const GroupTrace& group, const NamedArrayGroup& arrays,
                     const ArrayPadding& padding) {
  PaddedGroup shown;
  shown.stale = replays_stale(trace, group);
  shown.note = shown.stale ? stale_words(group, trace.step) : replay_words(group, trace.step);
  for (const std::string_view name : group.replayed_arrays) {
    const NamedArray* array = arrays.find(name);
    if (array == nullptr || !array->present) continue;
    shown.arrays.push_back(padding.describe(*array));
    shown.arrays.back().stale = shown.stale;
  }
  return shown;
}

// Replaces this step's values, which nothing read.
void show_what_was_read(const NamedStepArrays& before, const GroupTrace& group,
                        const ArrayPadding& padding, PaddedGroup& shown) {
  shown.arrays.clear();
  for (const std::string_view name : group.replayed_arrays)
    if (const NamedArray* left = left_in_buffers(before, group, name))
      shown.arrays.push_back(padding.describe_left(*left, before.step));
  if (shown.arrays.empty()) shown.note += ". What it read is not kept here";
}

void add_groups(const StepView& view, const NamedStepArrays& before, GraphPaddingModel& model) {
  const ArrayPadding padding(view);
  const NamedStepArrays arrays = step_arrays(view.trace);
  PaddedGroup batch{.title = "Batch", .note = "written in every step"};
  for (const char* name : {"query_start_loc", "seq_lens"})
    if (const NamedArray* array = arrays.find(-1)->find(name))
      batch.arrays.push_back(padding.describe(*array));
  model.groups.push_back(std::move(batch));
  for (const GroupTrace& group : view.trace.groups) {
    const NamedArrayGroup* of_group = arrays.find(group.group);
    if (of_group == nullptr || group.group < 0) continue;
    model.groups.push_back(group_of(view.trace, group, *of_group, padding));
    model.groups.back().title = view.names.group(group.group);
    if (model.groups.back().stale) show_what_was_read(before, group, padding, model.groups.back());
  }
}

}  // namespace

GraphPaddingModel make_graph_padding_model(ShownRun& run) {
  GraphPaddingModel model;
  const StepView view = run.view();
  const StepTrace& trace = view.trace;
  add_captured(view, model);
  model.has_batch = trace.num_scheduled_tokens > 0;
  if (!model.has_batch) return model;
  const CudagraphDispatch& graph = trace.graph;
  const auto num_reqs = static_cast<std::int32_t>(trace.rows.size());
  model.runtime_mode = cudagraph_mode_name(graph.runtime_mode);
  model.words = run.level() == RecordLevel::counts
                    ? std::string(
                          "This session was recorded without rows: that needs level blocks "
                          "or full.")
                    : explain_dispatch({.dispatch = graph,
                                        .num_tokens = trace.num_scheduled_tokens,
                                        .num_reqs = num_reqs,
                                        .uniform_decode = trace.uniform_decode,
                                        .num_spec = view.config.num_speculative_tokens,
                                        .reason_known = dispatch_reason_known(graph, view.config)});
  model.tokens = {trace.num_scheduled_tokens, 0};
  if (run.level() != RecordLevel::counts) model.rows = {num_reqs, 0};
  if (graph.runtime_mode != CUDAGraphMode::none)
    model.tokens.padding = graph.num_tokens_padded - trace.num_scheduled_tokens;
  if (graph.pads_metadata() && model.rows) model.rows->padding = graph.num_reqs_padded - num_reqs;
  if (run.level() != RecordLevel::full)
    model.arrays_note = "This session was recorded without metadata: that needs level full.";
  else if (!graph.pads_metadata())
    model.arrays_note = "No full graph runs in this step: nothing reads persistent arrays.";
  else
    add_groups(view, run.previous_arrays(), model);
  return model;
}

namespace {

constexpr std::array<ColumnWords, 3> kCapturedColumns = {
    {{"Graphs", "", ColumnKind::wrapped},
     {"Tokens", "", ColumnKind::wrapped},
     {"Of this step", "The smallest that holds its tokens"}}};

Table captured_table(const GraphPaddingModel& model) {
  Table table{.title = "Captured graphs",
              .note = model.captured.empty() ? std::string("No graph was captured.")
                                             : model.setting + "; sizes in tokens",
              .headings = headings_of(kCapturedColumns)};
  for (const CapturedGraphs& graphs : model.captured) {
    CellExtras sizes{.num_values = std::ssize(graphs.sizes)};
    for (const std::int32_t size : graphs.sizes)
      sizes.pieces.push_back({.text = fmt::format("{}", size), .elements = 1});
    TableCell picked;
    if (graphs.picked >= 0) {
      const auto at = static_cast<std::size_t>(graphs.picked);
      sizes.pieces[at].selected = true;
      picked = number_cell(graphs.sizes[at]);
    }
    table.rows.push_back(
        {words_cell(graphs.title),
         with_extras(words_cell(fmt::format("{}", fmt::join(graphs.sizes, " "))), std::move(sizes)),
         std::move(picked)});
  }
  return table;
}

struct PartLook {
  std::string_view words;
  std::optional<CellRole> role;  // empty: a value like any other
};
PartLook part_look(PaddedPart part) {
  switch (part) {
    case PaddedPart::real: return {"real row", std::nullopt};
    case PaddedPart::padding: return {"padding row", CellRole::padding};
    case PaddedPart::no_row: return {"behind the last row", CellRole::free_block};
    case PaddedPart::left_over: return {"not written in this step", CellRole::stale};
    case PaddedPart::gap: break;
  }
  return {"", std::nullopt};
}

ValuePiece piece_of(const PaddedElement& element) {
  return {.text = element.text,
          .elements = 1,
          .selected = element.part == PaddedPart::real,
          .role = part_look(element.part).role,
          .is_left_out = element.part == PaddedPart::gap};
}

// "0 1 2 3; padding row: 3"
TableCell elements_cell(const PaddedArray& array) {
  std::string words;
  CellExtras extras{.num_values = std::ssize(array.elements)};
  PaddedPart part = PaddedPart::real;
  for (const PaddedElement& element : array.elements) {
    extras.pieces.push_back(piece_of(element));
    if (element.part != part && element.part != PaddedPart::gap) {
      part = element.part;
      words += fmt::format("{}{}:", words.empty() ? "" : "; ", part_look(part).words);
    }
    words += (words.empty() ? "" : " ") + element.text;
  }
  return with_extras(words_cell(words), std::move(extras));
}

constexpr std::array<ColumnWords, 3> kPaddedColumns = {{{"Array", "", ColumnKind::words},
                                                        {"Values", "", ColumnKind::wrapped},
                                                        {"Note", "", ColumnKind::wrapped}}};

Table padded_table(const PaddedGroup& group) {
  Table table{.title = group.title,
              .note = (group.stale ? "! stale: " : "") + group.note,
              .headings = headings_of(kPaddedColumns)};
  for (const PaddedArray& array : group.arrays)
    table.rows.push_back({words_cell(array.name, array.stale ? Tone::warning : Tone::normal),
                          elements_cell(array), words_cell(array.note, Tone::dim)});
  return table;
}

// How the values of each kind of row are drawn.
Table parts_table() {
  PaddedArray parts;
  for (const PaddedPart part :
       {PaddedPart::real, PaddedPart::padding, PaddedPart::no_row, PaddedPart::left_over})
    parts.elements.push_back({part, std::string(part_look(part).words)});
  CellExtras extras{.num_values = std::ssize(parts.elements)};
  std::string words;
  for (const PaddedElement& element : parts.elements) {
    extras.pieces.push_back(piece_of(element));
    words += fmt::format("{}{}", words.empty() ? "" : "; ", element.text);
  }
  Table table{.title = "What the replay reads",
              .headings = {ColumnWords{"Values", "", ColumnKind::wrapped}},
              .has_headings = false};
  table.rows.push_back({with_extras(words_cell(words), std::move(extras))});
  return table;
}

Strip size_strip(const char* what, const PaddingBar& bar) {
  Strip strip{.title = what, .num_tokens = bar.real + bar.padding};
  strip.parts.push_back(
      {.last = bar.real, .words = fmt::format("{} real", bar.real), .is_selected = true});
  if (bar.padding > 0)
    strip.parts.push_back({.first = bar.real,
                           .last = bar.real + bar.padding,
                           .words = fmt::format("{} of {} padding", bar.padding, strip.num_tokens),
                           .text = fmt::format("+{}", bar.padding),
                           .role = CellRole::padding});
  return strip;
}

}  // namespace

Picture graph_padding_picture(Workbench& workbench) {
  const GraphPaddingModel model = make_graph_padding_model(*workbench.run());
  Picture picture{.is_page = true};
  if (!model.has_batch) {
    add_note(picture, "Nothing was scheduled in this step: no graph ran.");
    picture.tables.push_back(captured_table(model));
    return picture;
  }
  picture.notes.emplace_back("Runtime mode " + model.runtime_mode, Tone::normal, true);
  picture.notes.emplace_back(model.words, Tone::normal);
  add_note(picture, model.arrays_note);
  Table sizes{.title = "What the graph holds", .strips = {size_strip("tokens", model.tokens)}};
  if (model.rows) sizes.strips.push_back(size_strip("rows", *model.rows));
  picture.tables = {std::move(sizes), captured_table(model)};
  if (!model.groups.empty()) picture.tables.push_back(parts_table());
  for (const PaddedGroup& group : model.groups) picture.tables.push_back(padded_table(group));
  return picture;
}

}  // namespace hybridscope
