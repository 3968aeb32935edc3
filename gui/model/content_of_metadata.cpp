// Panels about what layers were given, as tables.
#include <fmt/core.h>

#include "gui/model/chunks_model.h"
#include "gui/model/content_cells.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/metadata_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

ContentCell values_cell(const MetadataArray& array) {
  if (!array.note.empty()) return words_cell(array.note);
  const bool is_plain = array.array.dims.empty() && num_elements(array.array) == 1;
  return is_plain ? number_cell(element_at(array.array, 0)) : words_cell(values_words(array));
}

ContentTable arrays_table(const MetadataSection& section) {
  ContentTable table{.title = fmt::format("{}, {}", section.title, section.builder),
                     .note = section.note,
                     .headings = headings_of(kArrayColumns)};
  table.headings.emplace_back("Changed");
  if (!section.warning.empty()) table.note += (table.note.empty() ? "! " : " ! ") + section.warning;
  for (const MetadataArray& array : section.arrays)
    table.rows.push_back({words_cell(array.array.name), words_cell(sign_words(array.sign).letter),
                          words_cell(array.dtype), words_cell(array.shape), values_cell(array),
                          number_cell(array.num_changed)});
  return table;
}

// The array that the panel shows in full: one line per row of a matrix or element of a vector.
ContentTable whole_table(const MetadataSection& section, const MetadataArray& array) {
  const bool is_matrix = array.array.dims.size() == 2;
  ContentTable table{.title = std::string(array.array.name),
                     .note = fmt::format("{} {} of {}, {} changed", array.dtype, array.shape,
                                         section.title, array.num_changed),
                     .headings = {is_matrix ? "Row" : "Element"}};
  const std::int64_t columns = array.num_columns();
  for (std::int64_t column = 0; column < columns; ++column)
    table.headings.push_back(is_matrix ? fmt::format("{}", column) : "Value");
  const std::int64_t size = num_elements(array.array);
  for (std::int64_t first = 0; first < size; first += columns) {
    auto& cells = table.rows.emplace_back();
    cells.push_back(number_cell(first / columns));
    for (std::int64_t i = first; i < first + columns; ++i)
      cells.push_back(number_cell(element_at(array.array, i)));
  }
  return table;
}

PanelContent metadata(Workbench& workbench) {
  if (workbench.run()->level() != RecordLevel::full) return {.notes = {std::string(kNoMetadata)}};
  const MetadataModel model = make_metadata_model(*workbench.run(), workbench.selection().request);
  const MetadataOptions& whole = workbench.options().metadata;
  PanelContent content;
  add_note(content, model.note);
  add_note(content, kSignLegend);
  for (const MetadataSection& section : model.sections) {
    content.tables.push_back(arrays_table(section));
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

ContentTable captured_table(const GraphPaddingModel& model) {
  ContentTable table{.title = "Captured graphs",
                     .note = model.captured.empty() ? std::string(kNoCapture) : model.setting,
                     .headings = {"Graphs", "Tokens", "Of this step"}};
  for (const CapturedGraphs& graphs : model.captured)
    for (std::size_t i = 0; i < graphs.sizes.size(); ++i)
      table.rows.push_back({words_cell(graphs.title), number_cell(graphs.sizes[i]),
                            flag_cell(static_cast<std::ptrdiff_t>(i) == graphs.picked)});
  return table;
}

std::string_view part_name(PaddedPart part) {
  switch (part) {
    case PaddedPart::real:
      return kRealRow;
    case PaddedPart::padding:
      return kPaddingRow;
    case PaddedPart::no_row:
      return kNoRow;
    case PaddedPart::left_over:
      return kNotWritten;
    case PaddedPart::gap:
      return "";
  }
  return "";
}

ContentTable padded_table(const PaddedGroup& group) {
  ContentTable table{.title = group.title,
                     .note = (group.stale ? "! stale: " : "") + group.note,
                     .headings = {"Array", "Values", "What", "Note"}};
  for (const PaddedArray& array : group.arrays) {
    for (const PaddedElement& element : array.elements)
      table.rows.push_back({words_cell(array.name), words_cell(element.text),
                            words_cell(part_name(element.part)), words_cell(array.note)});
  }
  return table;
}

PanelContent graph_padding(Workbench& workbench) {
  const GraphPaddingModel model = make_graph_padding_model(*workbench.run());
  PanelContent content;
  if (model.has_batch) {
    content.notes = {"Runtime mode " + model.runtime_mode, model.words};
    ContentTable sizes{.title = "What the graph holds", .headings = {"What", "Real", "Padding"}};
    const auto add = [&](const char* what, const PaddingBar& bar) {
      sizes.rows.push_back({words_cell(what), number_cell(bar.real), number_cell(bar.padding)});
    };
    add("tokens", model.tokens);
    if (model.rows) add("rows", *model.rows);
    content.tables.push_back(std::move(sizes));
    add_note(content, model.arrays_note);
  } else {
    add_note(content, kNoGraph);
  }
  content.tables.push_back(captured_table(model));
  if (model.has_batch)
    for (const PaddedGroup& group : model.groups) content.tables.push_back(padded_table(group));
  return content;
}

void add_chunks(PanelContent& content, const ChunkGroup& group) {
  ContentTable sequences{
      .title = group.title + ": sequences",
      .note = group.rule,
      .headings = {"seq_idx", "Request", "First token", "Last token", "Position of the first"}};
  for (const ChunkSequence& sequence : group.sequences)
    sequences.rows.push_back({number_cell(sequence.number), words_cell(sequence.name),
                              number_cell(sequence.first), number_cell(sequence.last - 1),
                              number_cell(sequence.num_computed_tokens)});
  ContentTable logical{
      .title = group.title + ": logical chunks",
      .headings = {"Chunk", "seq_idx", "First token", "Last token", "Last of its sequence"}};
  for (const LogicalChunk& chunk : group.logical)
    logical.rows.push_back({number_cell(chunk.number), known_cell(chunk.sequence),
                            number_cell(chunk.first), number_cell(chunk.last - 1),
                            flag_cell(chunk.is_last)});
  ContentTable physical{.title = group.title + ": physical chunks",
                        .note = fmt::format("chunk_size {}", group.chunk_size),
                        .headings = {"Chunk", "First token"}};
  for (std::size_t i = 0; i < group.physical.size(); ++i)
    physical.rows.push_back(
        {number_cell(static_cast<std::int64_t>(i)), number_cell(group.physical[i])});
  ContentTable arrays{.title = group.title + ": arrays", .headings = {"Array", "Values"}};
  for (const ChunkArray& array : group.arrays)
    arrays.rows.push_back({words_cell(array.name), words_cell(array.values)});
  for (ContentTable* table : {&sequences, &logical, &physical, &arrays})
    content.tables.push_back(std::move(*table));
  if (group.boundaries.empty()) return;
  ContentTable boundaries{.title = group.title + ": blocks that become full (mode all)",
                          .headings = {"Behind token"}};
  for (const std::int32_t token : group.boundaries)
    boundaries.rows.push_back({number_cell(token - 1)});
  content.tables.push_back(std::move(boundaries));
}

PanelContent chunks(Workbench& workbench) {
  const ChunksModel model = make_chunks_model(*workbench.run());
  PanelContent content;
  add_note(content, model.empty);
  for (const ChunkGroup& group : model.groups) add_chunks(content, group);
  return content;
}

constexpr ContentRow kMetadataContents[] = {
    {"metadata", metadata}, {"graph_padding", graph_padding}, {"chunks", chunks}};

}  // namespace

std::span<const ContentRow> metadata_contents() { return kMetadataContents; }

}  // namespace hybridscope
