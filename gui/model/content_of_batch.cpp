// Panels about the rows of a batch, as tables.
#include <fmt/format.h>

#include "gui/model/batch_rows_model.h"
#include "gui/model/content_cells.h"
#include "gui/model/speculative_model.h"
#include "gui/model/state_copies_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

ContentTable rows_table(const BatchRowsModel& model) {
  ContentTable table{.title = "Rows", .headings = headings_of(kBatchRowColumns)};
  for (std::size_t i = 0; i < model.rows.size(); ++i) {
    const ShownBatchRow& row = model.rows[i];
    table.rows.push_back({number_cell(static_cast<std::int64_t>(i)), known_cell(row.slot),
                          words_cell(row.name), words_cell(row.row_class),
                          number_cell(row.num_computed_tokens), number_cell(row.num_query_tokens),
                          known_cell(row.num_draft_count), number_cell(row.num_accepted_tokens),
                          words_cell(row.count_words), words_cell(batch_row_tokens(row)),
                          words_cell(row.origin)});
  }
  if (model.num_padding_rows > 0) {
    const PaddingRowWords words = padding_row_words(model);
    for (std::int32_t i = 0; i < model.num_padding_rows; ++i) {
      auto& cells = table.rows.emplace_back(kBatchRowColumns.size());
      cells[0] = number_cell(static_cast<std::int64_t>(table.rows.size()) - 1);
      cells[kBatchRequestColumn] = words_cell(words.name);
      cells[kOriginColumn] = words_cell(words.origin);
    }
  }
  if (!model.has_slots) {
    table.headings.erase(table.headings.begin() + kSlotColumn);
    for (auto& cells : table.rows) cells.erase(cells.begin() + kSlotColumn);
  }
  return table;
}

// How the tokens of the batch are divided, from left to right.
ContentTable axis_table(const BatchRowsModel& model) {
  ContentTable table{.title = "Tokens of the batch",
                     .note = model.divided,
                     .headings = {"Section", "First token", "Tokens", "Of"}};
  for (const AxisSection& section : model.sections)
    for (std::size_t i = 0; i < section.num_segments; ++i) {
      const AxisSegment& segment = model.segments[section.first_segment + i];
      table.rows.push_back(
          {words_cell(section.label), number_cell(segment.first_token),
           number_cell(segment.num_tokens),
           words_cell(segment.row < 0 ? role_name(CellRole::padding) : segment.label)});
    }
  return table;
}

PanelContent batch_rows(Workbench& workbench) {
  const BatchRowsModel model = make_batch_rows_model(*workbench.run(), workbench.selection());
  if (model.rows.empty()) return {.notes = {model.empty}};
  PanelContent content;
  const ShownRun& run = *workbench.run();
  add_note(content, fmt::format("Step {} of {}.", run.step(), known_steps_words(run)));
  add_note(content, model.graph);
  add_note(content, model.counts);
  content.tables = {rows_table(model), axis_table(model)};
  return content;
}

ContentTable decisions_table(const StateCopiesModel& model) {
  ContentTable table{
      .title = "Decisions", .note = decisions_words(model), .headings = headings_of(kCopyColumns)};
  for (const StateCopyRow& row : model.rows)
    table.rows.push_back({words_cell(row.name), words_cell(copy_moment_name(row.moment)),
                          words_cell(row.outcome), words_cell(row.columns),
                          row.bias ? number_cell(*row.bias) : ContentCell(), words_cell(row.why),
                          words_cell(row.rule)});
  return table;
}

ContentTable places_table(const std::string& title, const StateCopyDrawing& drawing) {
  ContentTable table{.title = title + ": places",
                     .note = drawing.group_name,
                     .headings = {"Place", "Column", "Block"}};
  for (const std::string& fault : drawing.faults) table.note += ". " + fault;
  if (!drawing.note.empty()) table.note += ". " + drawing.note;
  const auto add = [&](const char* name, const CopyPlace& place) {
    table.rows.push_back({words_cell(name), number_cell(place.column), number_cell(place.block)});
  };
  if (drawing.has_temporal) add("temporal source", drawing.temporal_source);
  if (drawing.has_conv) add("conv source", drawing.conv_source);
  add("destination", drawing.destination);
  return table;
}

ContentTable conv_table(const std::string& title, const StateCopyDrawing& drawing) {
  ContentTable table{.title = title + ": conv window",
                     .headings = {"Position", "Source holds", "Source token", "Moves",
                                  "Destination holds", "Destination token"}};
  for (std::size_t i = 0; i < drawing.conv.source.size(); ++i) {
    const ConvPosition& from = drawing.conv.source[i];
    const ConvPosition& to = drawing.conv.destination[i];
    const auto token = [](const ConvPosition& position) {
      return position.token > 0 ? number_cell(position.token) : ContentCell();
    };
    table.rows.push_back(
        {number_cell(static_cast<std::int64_t>(i)), words_cell(conv_holds_name(from.holds)),
         token(from), flag_cell(from.copied), words_cell(conv_holds_name(to.holds)), token(to)});
  }
  return table;
}

ContentTable block_copies_table(const std::string& title, const StateCopyDetail& detail) {
  ContentTable table{
      .title = title,
      .note = std::string(detail.source),
      .headings = {"Group", "Source", "Source block", "Destination", "Destination block", "Why"}};
  for (const BlockCopyDrawing& copy : detail.block_copies)
    table.rows.push_back(
        {words_cell(copy.group_name), words_cell(copy_place_words(copy.source_column)),
         number_cell(copy.source.block), words_cell(copy_place_words(copy.destination_column)),
         number_cell(copy.destination.block), words_cell(copy.words)});
  return table;
}

PanelContent state_copies(Workbench& workbench) {
  const StateCopiesModel model = make_state_copies_model(*workbench.run(), workbench.selection());
  if (model.rows.empty()) return {.notes = {model.empty}};
  PanelContent content;
  content.tables.push_back(decisions_table(model));
  for (const StateCopyDetail& detail : model.details) {
    const std::string title = fmt::format("{}, {}", model.name, detail.title);
    if (!detail.block_copies.empty()) {
      content.tables.push_back(block_copies_table(title, detail));
      continue;
    }
    ContentTable formula{
        .title = title, .note = std::string(detail.source), .headings = {"Formula"}};
    for (const std::string& term : detail.formula) formula.rows.push_back({words_cell(term)});
    content.tables.push_back(std::move(formula));
    if (!detail.drawing) continue;
    content.tables.push_back(places_table(title, *detail.drawing));
    if (detail.drawing->has_conv) content.tables.push_back(conv_table(title, *detail.drawing));
  }
  return content;
}

ContentTable drafts_table(const SpeculativeModel& model) {
  constexpr std::ptrdiff_t kBehindComputed = 3;
  ContentTable table{.title = "Drafts", .headings = headings_of(kDraftColumns)};
  table.headings.insert(table.headings.begin() + kBehindComputed, "c of the scheduler");
  for (const SpeculativeRow& row : model.rows)
    table.rows.push_back(
        {words_cell(row.name), words_cell(row.row_class), number_cell(row.num_computed_tokens),
         number_cell(row.scheduler_computed_tokens), number_cell(row.num_drafts_offered),
         number_cell(row.num_draft_tokens), number_cell(row.num_sampled_tokens),
         number_cell(row.num_accepted_tokens_next), known_cell(row.next_read.column)});
  return table;
}

PanelContent speculative(Workbench& workbench) {
  const SpeculativeModel model = make_speculative_model(*workbench.run(), workbench.selection());
  if (model.rows.empty()) return {.notes = {model.empty}};
  ContentTable words{.title = "In words", .headings = {"Request", "Sampled", "Next", "Wrong"}};
  ContentTable tokens{
      .title = "Tokens and the state behind each",
      .note = model.group_name,
      .headings = {"Request", "First", "Last", "Kind", "Column", "Block", "Read next"}};
  for (const SpeculativeRow& row : model.rows) {
    words.rows.push_back({words_cell(row.name), words_cell(row.sample), words_cell(row.next),
                          row.faults.empty()
                              ? ContentCell()
                              : words_cell(fmt::format("{}", fmt::join(row.faults, " ")))});
    for (const StripToken& token : row.tokens)
      tokens.rows.push_back(
          {words_cell(row.name), number_cell(token.first), number_cell(token.last),
           words_cell(strip_token_name(token.kind)), known_cell(token.state.column),
           token.state.column < 0 ? ContentCell() : number_cell(token.state.block),
           flag_cell(token.next_reads)});
  }
  PanelContent content;
  add_note(content, model.in_flight);
  add_note(content, model.no_places);
  add_note(content, model.policies);
  content.tables = {drafts_table(model), std::move(words), std::move(tokens)};
  return content;
}

constexpr ContentRow kBatchContents[] = {
    {"batch_rows", batch_rows}, {"state_copies", state_copies}, {"speculative", speculative}};

}  // namespace

std::span<const ContentRow> batch_contents() { return kBatchContents; }

}  // namespace hybridscope
