#include "gui/model/metadata_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/metadata/metadata_builders.h"
#include "core/metadata/persistent_buffer.h"
#include "gui/model/block_verdict.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_parts.h"

namespace hybridscope {
namespace {

// Three or more equal elements in a row are one piece; rows of a matrix are in brackets.
void add_pieces(MetadataArray& shown) {
  constexpr std::size_t kMostPieces = 64;
  const std::int64_t size = num_elements(shown.array);
  const std::int64_t columns = num_columns(shown.array);
  const bool matrix = shown.array.dims.size() == 2;
  for (std::int64_t i = 0; i < size && shown.pieces.size() < kMostPieces;) {
    const std::int64_t row = i / columns;
    const std::int64_t end_of_row = matrix ? (row + 1) * columns : size;
    const auto same = [&](std::int64_t other) {
      return element_at(shown.array, other) == element_at(shown.array, i) &&
             shown.is_changed(other) == shown.is_changed(i) &&
             (matrix || (other == shown.selected_row) == (i == shown.selected_row));
    };
    std::int64_t end = i + 1;
    while (end < end_of_row && same(end)) ++end;
    if (end - i < 3) end = i + 1;
    ValuePiece piece{.text = element_text(element_at(shown.array, i)),
                     .elements = end - i,
                     .changed = shown.is_changed(i),
                     .selected = shown.selected_row == (matrix ? row : i)};
    if (end - i > 1) piece.text += fmt::format(" x{}", end - i);
    if (matrix && i == row * columns) piece.text = "[" + piece.text;
    if (matrix && end == end_of_row) piece.text += "]";
    shown.pieces.push_back(std::move(piece));
    i = end;
  }
}

// Compares elements at the same index; an element that did not exist before is changed.
void mark_changes(const NamedArray* before, MetadataArray& shown) {
  const NamedArray& now = shown.array;
  shown.reshaped = before == nullptr || !before->present || before->dims != now.dims;
  const std::int64_t columns = num_columns(now);
  const std::int64_t columns_before = before == nullptr ? 0 : num_columns(*before);
  const std::int64_t size_before =
      before == nullptr || !before->present ? 0 : num_elements(*before);
  if (!shown.reshaped && before->values == now.values) return;
  shown.changed.assign(now.values.size(), 0);
  for (std::size_t i = 0; i < now.values.size(); ++i) {
    const std::int64_t row = columns == 0 ? 0 : static_cast<std::int64_t>(i) / columns;
    const std::int64_t column = columns == 0 ? 0 : static_cast<std::int64_t>(i) % columns;
    const std::int64_t at = row * columns_before + column;
    if (column < columns_before && at < size_before && element_at(*before, at) == now.values[i])
      continue;
    shown.changed[i] = 1;
    ++shown.num_changed;
  }
}

// Characters of the longest element.
std::size_t widest_value(const NamedArray& array) {
  std::int64_t least = array.fill;
  std::int64_t most = array.fill;
  bool unset = false;
  for (const std::int64_t value : array.values) {
    unset = unset || value == kNeverWritten;
    if (value == kNeverWritten) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return std::max({element_text(least).size(), element_text(most).size(),
                   unset ? element_text(kNeverWritten).size() : 0});
}

class ModelMaker {
 public:
  ModelMaker(ShownRun& run, RequestId selected)
      : run_(run), view_(run.view()), before_(run.previous_arrays()), selected_(selected) {}

  MetadataModel make() {
    MetadataModel model;
    if (run_.level() == RecordLevel::counts) return model;  // without rows there is no batch either
    NamedStepArrays now = step_arrays(view_.trace);
    model.sections.push_back(make_section(now.groups.front()));
    for (const GroupTrace& trace : view_.trace.groups) {
      const auto built = std::ranges::find(now.groups, trace.group, &NamedArrayGroup::group);
      NamedArrayGroup none{.group = trace.group, .arrays = {}};
      model.sections.push_back(make_section(built == now.groups.end() ? none : *built));
      if (model.sections.back().arrays.empty()) model.sections.pop_back();
    }
    if (before_.step > 0)
      model.note = fmt::format("differs from step {}", before_.step);
    else
      model.note = "There is no step before this one to compare with.";
    return model;
  }

 private:
  MetadataSection make_section(NamedArrayGroup& group) {
    MetadataSection section;
    section.group = group.group;
    if (group.group < 0) {
      section.title = "Batch";
      section.builder = "CommonAttentionMetadata";
    } else {
      describe_group(group_trace(group.group), section);
    }
    for (NamedArray& array : group.arrays) add(group, std::move(array), section);
    if (group.group >= 0 && run_.level() == RecordLevel::full && !view_.trace.rows.empty())
      for (MetadataArray& table : table_arrays(view_, group_trace(group.group))) {
        if (table.array.dims.size() == 2)
          section.note += (section.note.empty() ? "" : "; ") + std::string(kTableNote);
        finish(std::move(table), section);
      }
    if (group.group >= 0) add_checkpoints(section);
    return section;
  }

  const GroupTrace& group_trace(std::int32_t group) const {
    return *std::ranges::find(view_.trace.groups, group, &GroupTrace::group);
  }

  void describe_group(const GroupTrace& group, MetadataSection& section) const {
    section.title = view_.names.group(group.group);
    if (!group.metadata) return;
    const auto& spec = std::get<MambaSpec>(
        view_.config.kv_cache_config.groups[static_cast<std::size_t>(group.group)].spec);
    section.builder = metadata_builder_row(spec.mamba_type).reference_name;
    if (group.reused_metadata) section.note = "reused through update_block_table";
    if (replays(view_.trace, group)) add_replay(group, section);
    section.rows =
        metadata_rows(*group.metadata, static_cast<std::int32_t>(view_.trace.rows.size()));
  }

  std::int64_t step() const { return view_.trace.step; }

  void add_replay(const GroupTrace& group, MetadataSection& section) const {
    constexpr const char* kWhat = "what the replayed graph reads: ";
    if (!replays_stale(view_.trace, group)) {
      section.note += (section.note.empty() ? "" : "; ") + (kWhat + replay_words(group, step()));
      return;
    }
    section.warning = kWhat + stale_words(group, step()) + ".";
    for (const std::string_view name : group.replayed_arrays) {
      const NamedArray* left = left_in_buffers(before_, group, name);
      if (left == nullptr) continue;
      MetadataArray shown;
      shown.array = *left;
      add_pieces(shown);
      section.replayed.push_back(
          fmt::format("read, from step {}: {} = {}", before_.step, name, values_words(shown)));
    }
    if (section.replayed.empty())
      section.replayed.emplace_back("What it read is not known here: the step is not kept.");
  }

  // What the arrays about checkpoints say, row by row: their elements stand for the same rows.
  void add_checkpoints(MetadataSection& section) const {
    const auto find = [&](std::string_view end) -> const NamedArray* {
      const auto found = std::ranges::find_if(section.arrays, [&](const MetadataArray& array) {
        return array.array.name.ends_with(end);
      });
      return found == section.arrays.end() ? nullptr : &found->array;
    };
    const NamedArray* offsets = find(".checkpoint_offsets");
    const NamedArray* blocks = find("checkpoint.state_indices");
    if (blocks == nullptr) blocks = find("checkpoint_meta.state_indices");
    const NamedArray* chunks = find("checkpoint_chunk_idx");
    if (offsets == nullptr || blocks == nullptr) return;
    for (std::int64_t i = 0; i < std::min(num_elements(*offsets), num_elements(*blocks)); ++i) {
      const std::int64_t offset = element_at(*offsets, i);
      if (offset <= 0) continue;
      section.checkpoints.push_back(
          checkpoint_words(section.group, section.rows.batch_row(offsets->rows, i), offset,
                           element_at(*blocks, i)) +
          (chunks == nullptr || i >= num_elements(*chunks)
               ? std::string()
               : fmt::format("; scan chunk {} ends there", element_at(*chunks, i))));
    }
  }

  // "checkpoint of A (row 0): after 24 of its 30 tokens S(24) goes to block 5, column 2"
  std::string checkpoint_words(std::int32_t group, std::int32_t batch_row, std::int64_t offset,
                               std::int64_t block) const {
    if (batch_row < 0 || static_cast<std::size_t>(batch_row) >= view_.trace.rows.size())
      return fmt::format("checkpoint of row {}: after {} tokens, to block {}", batch_row, offset,
                         block);
    const RowTrace& row = view_.trace.rows[static_cast<std::size_t>(batch_row)];
    const auto ids = view_.worker_tables.block_ids(row.request, group);
    const auto column = std::ranges::find(ids, block);
    return fmt::format(
        "checkpoint of {} (row {}): after {} of its {} tokens S({}) goes to block {}{}",
        view_.names.request(row.request), batch_row, offset,
        row.scheduled < 0 ? 0 : view_.trace.scheduled_of(row).num_scheduled_tokens,
        row.num_computed_tokens + offset, block,
        column == ids.end() ? std::string() : fmt::format(", column {}", column - ids.begin()));
  }

  ReplaySign sign_of(std::int32_t group, std::string_view name) const {
    if (group < 0) return ReplaySign::none;
    const GroupTrace& trace = group_trace(group);
    if (std::ranges::find(trace.replayed_arrays, name) == trace.replayed_arrays.end())
      return ReplaySign::none;
    if (!replays(view_.trace, trace)) return ReplaySign::persistent;
    return replays_stale(view_.trace, trace) ? ReplaySign::stale : ReplaySign::read;
  }

  void add(const NamedArrayGroup& group, NamedArray array, MetadataSection& section) const {
    if (!array.present) {
      section.absent += (section.absent.empty() ? "" : ", ") + std::string(array.name);
      return;
    }
    MetadataArray shown;
    shown.array = std::move(array);
    const std::string_view name = shown.array.name;
    shown.sign = sign_of(group.group, name);
    if (before_.step > 0) {
      const NamedArrayGroup* before = before_.find(group.group);
      mark_changes(before == nullptr ? nullptr : before->find(name), shown);
    }
    shown.holds_blocks = shown.array.elements == ArrayElements::block_ids;
    finish(std::move(shown), section);
  }

  void finish(MetadataArray shown, MetadataSection& section) const {
    shown.dtype = array_dtype_name(shown.array.dtype);
    if (!shown.array.dims.empty()) shown.shape = array_shape(shown.array);
    select_row(section, shown);
    add_pieces(shown);
    shown.widest = widest_value(shown.array);
    section.arrays.push_back(std::move(shown));
  }

  void select_row(const MetadataSection& section, MetadataArray& shown) const {
    const ArrayRows of = shown.array.rows;
    if (selected_.value < 0 || of == ArrayRows::none || shown.array.dims.empty()) return;
    const auto& rows = view_.trace.rows;
    for (std::int64_t index = 0; index < shown.array.dims[0]; ++index) {
      const std::int32_t row = section.rows.batch_row(of, index);
      if (row >= 0 && static_cast<std::size_t>(row) < rows.size() &&
          rows[static_cast<std::size_t>(row)].request == selected_)
        shown.selected_row = index;
    }
  }

  const ShownRun& run_;
  StepView view_;
  const NamedStepArrays& before_;
  RequestId selected_;
};

}  // namespace

std::string values_words(const MetadataArray& array) {
  const std::int64_t size = num_elements(array.array);
  if (size == 0) return "empty";
  std::string text;
  std::int64_t shown = 0;
  for (const ValuePiece& piece : array.pieces) {
    text += (text.empty() ? "" : " ") + piece.text;
    shown += piece.elements;
  }
  if (shown < size) text += fmt::format(" ... {} of {}", shown, size);
  return text;
}

SignWords sign_words(ReplaySign sign) {
  switch (sign) {
    case ReplaySign::none: return {"", ""};
    case ReplaySign::persistent:
      return {"p", "A persistent buffer: full graphs read it. No full graph runs in this step."};
    case ReplaySign::read:
      return {"G", "A persistent buffer: the full graph of this step reads it."};
    case ReplaySign::stale:
      return {"!", "The full graph of this step reads this buffer, though no build wrote it."};
  }
  return {"", ""};
}

MetadataModel make_metadata_model(ShownRun& run, RequestId selected) {
  return ModelMaker(run, selected).make();
}

namespace {

TableCell values_cell(const MetadataArray& array) {
  if (!array.note.empty()) return words_cell(array.note);
  const bool is_plain = array.array.dims.empty() && num_elements(array.array) == 1;
  return is_plain ? number_cell(element_at(array.array, 0)) : words_cell(values_words(array));
}

constexpr std::array<ColumnWords, 6> kArrayColumns = {{{"Array", "", ColumnKind::name},
                                                       {"Sign", kSignLegend, ColumnKind::words},
                                                       {"Type", "", ColumnKind::words, true},
                                                       {"Shape", "", ColumnKind::words, true},
                                                       {"Values", "", ColumnKind::values},
                                                       {"Changed"}}};

Tone tone_of(ReplaySign sign) {
  return sign == ReplaySign::stale  ? Tone::warning
         : sign == ReplaySign::read ? Tone::accent
                                    : Tone::dim;
}

TableRow array_row(const MetadataArray& array) {
  const SignWords sign = sign_words(array.sign);
  TableCell values = values_cell(array);
  if (array.note.empty())
    values = with_extras(std::move(values),
                         {.pieces = array.pieces, .num_values = num_elements(array.array)});
  TableCell shape = words_cell(array.shape);
  if (array.reshaped && array.num_changed > 0)
    shape = with_extras(std::move(shape), {.tooltip = "Another shape than in the step before"});
  TableRow row{words_cell(array.array.name),
               words_cell(sign.letter, tone_of(array.sign)),
               words_cell(array.dtype, Tone::dim),
               std::move(shape),
               std::move(values),
               number_cell(array.num_changed)};
  row.tooltip = fmt::format("{} {} {}", array.array.name, array.dtype, array.shape);
  if (!sign.words.empty()) row.tooltip += fmt::format("\n{}", sign.words);
  return row;
}

// The array that the panel shows in full: one line per row of a matrix or element of a vector.
Table whole_table(const MetadataSection& section, const MetadataArray& array) {
  const bool is_matrix = array.array.dims.size() == 2;
  Table table{.title = std::string(array.array.name),
              .note = fmt::format("{} {} of {}, {} changed", array.dtype, array.shape,
                                  section.title, array.num_changed),
              .headings = {is_matrix ? "Row" : "Element"}};
  const std::int64_t columns = array.num_columns();
  for (std::int64_t column = 0; column < columns; ++column)
    table.headings.push_back(is_matrix ? fmt::format("{}", column) : "Value");
  const std::int64_t size = num_elements(array.array);
  for (std::int64_t first = 0; first < size; first += columns) {
    auto& cells = table.rows.emplace_back().cells;
    cells.push_back(number_cell(first / columns));
    for (std::int64_t i = first; i < first + columns; ++i)
      cells.push_back(number_cell(element_at(array.array, i)));
  }
  return table;
}

}  // namespace

Table arrays_table(const MetadataSection& section, Workbench& workbench) {
  Table table{.title = fmt::format("{}, {}", section.title, section.builder),
              .note = section.note,
              .headings = headings_of(kArrayColumns)};
  if (!section.warning.empty()) table.note += (table.note.empty() ? "! " : " ! ") + section.warning;
  const MetadataOptions& whole = workbench.options().metadata;
  const DifferenceMarks* const marks = workbench.differences();
  for (const MetadataArray& array : section.arrays) {
    const std::string name(array.array.name);
    TableRow& row = table.rows.emplace_back(array_row(array));
    row.mark = fmt::format("array {} {}", section.group, name);
    row.differs = marks != nullptr && marks->of(section.group, name) != nullptr;
    if (!array.note.empty()) continue;
    row.is_selected = whole.group == section.group && whole.array == name;
    if (row.is_selected)
      row.clicks = {{"metadata.close_array"}};
    else
      row.clicks = {{"metadata.array", fmt::format("{} {}", section.group, name)}};
  }
  return table;
}

Picture metadata_picture(Workbench& workbench) {
  if (workbench.run()->level() != RecordLevel::full) return {.notes = {std::string(kNoMetadata)}};
  const MetadataModel model = make_metadata_model(*workbench.run(), workbench.selection().request);
  const MetadataOptions& whole = workbench.options().metadata;
  Picture content;
  add_note(content, model.note);
  add_note(content, kSignLegend);
  for (const MetadataSection& section : model.sections) {
    content.tables.push_back(arrays_table(section, workbench));
    for (const std::string& line : section.checkpoints)
      content.notes.push_back(fmt::format("{}: {}", section.title, line));
    if (!section.absent.empty())
      content.notes.push_back(fmt::format("{}: None: {}", section.title, section.absent));
    for (const MetadataArray& array : section.arrays)
      if (section.group == whole.group && array.array.name == whole.array && array.note.empty())
        content.tables.push_back(whole_table(section, array));
  }
  return content;
}

}  // namespace hybridscope
