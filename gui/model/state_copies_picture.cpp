// The decisions about copies, their formulas and what moves, as tables.

#include <fmt/core.h>

#include <array>
#include <iterator>

#include "core/base/result.h"
#include "gui/model/command_table.h"
#include "gui/model/state_copies_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

constexpr std::array<ColumnWords, 7> kCopyColumns = {{
    {"Request", "Whose state", ColumnKind::words, true},
    {"When",
     "First (a block copy), before the forward pass (pre-copy), or after sampling (post-copy): the "
     "order in which the step makes them",
     ColumnKind::words, true},
    {"Outcome", "What the rule decided; only block copy, copy and within_block_shift move anything",
     ColumnKind::words, true},
    {"Columns",
     "Conv source, temporal source where it is another, and destination: columns of the "
     "request's block table (src_col, src_col + accept_token_bias, dst_col). Block copies: cache "
     "is a block in none of its columns, which the prefix cache has",
     ColumnKind::words, true},
    {"Bias", "accept_token_bias: how many accepted tokens the state lies behind the source column",
     ColumnKind::number, true},
    {"Why", "The outcome; the formula with its numbers is below", ColumnKind::wrapped},
    {"Rule", "The function that decides", ColumnKind::remark, true},
}};

TableRow decision_row(const StateCopyRow& row) {
  const Tone tone = row.copies ? Tone::normal : Tone::dim;
  TableRow cells = {
      words_cell(row.name),
      words_cell(copy_moment_name(row.moment), tone),
      words_cell(row.outcome, tone),
      words_cell(row.columns, tone),
      row.bias ? TableCell(std::int64_t{*row.bias}, tone) : TableCell(),
      with_extras(words_cell(row.why, tone), {.whole = copy_row_sentence(row) + "\n" + row.why}),
      words_cell(row.rule, tone)};
  if (row.request.value >= 0) cells.clicks = {{"select.request", quoted_word(row.name)}};
  cells.tooltip = row.in_words;
  return cells;
}

Table decisions_table(const StateCopiesModel& model, Workbench& workbench) {
  Table table{
      .title = "Decisions", .note = decisions_words(model), .headings = headings_of(kCopyColumns)};
  for (const StateCopyRow& row : model.rows) {
    const auto index = std::ssize(table.rows);
    TableRow& cells = table.rows.emplace_back(decision_row(row));
    cells.mark = fmt::format("decision {} {}", row.name, index);
    cells.is_selected = row.request == model.request;
    cells.differs = differs_in(workbench, row.name, row.moment);
    // The selected request's first decision that differs from the other run.
    if (cells.differs && cells.is_selected && table.wanted < 0) table.wanted = index;
  }
  return table;
}

Table places_table(const std::string& title, const StateCopyDrawing& drawing) {
  Table table{.title = title + ": places",
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

Table conv_table(const std::string& title, const StateCopyDrawing& drawing) {
  Table table{.title = title + ": conv window",
              .headings = {"Position", "Source holds", "Source token", "Moves", "Destination holds",
                           "Destination token"}};
  for (std::size_t i = 0; i < drawing.conv.source.size(); ++i) {
    const ConvPosition& from = drawing.conv.source[i];
    const ConvPosition& to = drawing.conv.destination[i];
    const auto token = [](const ConvPosition& position) {
      return position.token > 0 ? number_cell(position.token) : TableCell();
    };
    table.rows.push_back(
        {number_cell(static_cast<std::int64_t>(i)), words_cell(conv_holds_name(from.holds)),
         token(from), flag_cell(from.copied), words_cell(conv_holds_name(to.holds)), token(to)});
  }
  return table;
}

Table block_copies_table(const std::string& title, const StateCopyDetail& detail) {
  Table table{
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

}  // namespace

bool differs_in(Workbench& workbench, const std::string& request, CopyMoment moment) {
  const DifferenceMarks* const marks = workbench.differences();
  const RequestDifferences* const of = marks != nullptr ? marks->of(request) : nullptr;
  if (of == nullptr || moment == CopyMoment::first) return false;
  return moment == CopyMoment::before_forward ? of->pre_copy : of->post_copy;
}

Picture state_copies_picture(Workbench& workbench) {
  return state_copies_picture(make_state_copies_model(*workbench.run(), workbench.selection()),
                              workbench);
}

Picture state_copies_picture(const StateCopiesModel& model, Workbench& workbench) {
  if (model.rows.empty()) return {.notes = {model.empty}};
  Picture content;
  content.tables.push_back(decisions_table(model, workbench));
  for (const StateCopyDetail& detail : model.details) {
    const std::string title = fmt::format("{}, {}", model.name, detail.title);
    if (!detail.block_copies.empty()) {
      content.tables.push_back(block_copies_table(title, detail));
      continue;
    }
    Table formula{.title = title, .note = std::string(detail.source), .headings = {"Formula"}};
    for (const std::string& term : detail.formula) formula.rows.push_back({words_cell(term)});
    content.tables.push_back(std::move(formula));
    if (!detail.drawing) continue;
    content.tables.push_back(places_table(title, *detail.drawing));
    if (detail.drawing->has_conv) content.tables.push_back(conv_table(title, *detail.drawing));
  }
  return content;
}

// The conv windows of a state copy, position by position.

std::string_view conv_holds_name(ConvHolds holds) {
  constexpr std::array<std::string_view, kNumConvHolds> kNames = {
      "before token 1", "token", "accepted draft", "rejected draft", "not tracked", "not known"};
  return kNames[static_cast<std::size_t>(holds)];
}

namespace {

ConvPosition position_of(const ConvCopyTerms& terms, std::int32_t token) {
  if (!terms.tokens_known) return {.holds = ConvHolds::not_known};
  if (token > terms.last_written) return {};
  if (token <= 0) return {.holds = ConvHolds::before_first};
  if (token <= terms.num_real_tokens) return {.holds = ConvHolds::token, .token = token};
  return {.holds = token <= terms.num_accepted_up_to ? ConvHolds::accepted : ConvHolds::rejected,
          .token = token};
}

}  // namespace

ConvCopy make_conv_copy(const ConvCopyTerms& terms) {
  const std::int32_t length = terms.conv_kernel - 1 + terms.num_speculative_tokens;
  const std::int32_t bias = terms.accept_token_bias;
  HS_EXPECT(bias >= 0 && bias <= length);
  const std::int32_t first = terms.num_tokens - (terms.conv_kernel - 2) - bias;
  ConvCopy copy{.bias = bias, .source = {}, .destination = {}};
  for (std::int32_t i = 0; i < length; ++i) {
    ConvPosition position = position_of(terms, first + i);
    position.copied = i >= bias;
    position.in_window = i >= bias && i < bias + terms.conv_kernel - 1;
    copy.source.push_back(position);
  }
  for (std::int32_t i = 0; i < length; ++i) {
    const bool copied = i + bias < length;
    ConvPosition position;
    if (copied)
      position = copy.source[static_cast<std::size_t>(i + bias)];
    else if (terms.same_block)
      position = copy.source[static_cast<std::size_t>(i)];
    position.copied = copied;
    position.in_window = i < terms.conv_kernel - 1;
    copy.destination.push_back(position);
  }
  return copy;
}

}  // namespace hybridscope
