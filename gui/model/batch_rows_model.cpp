#include "gui/model/batch_rows_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/forward_rows.h"
#include "sessions/record/value_names.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// How a builder treats a row.
enum class RowKind : std::uint8_t { decode, prefill, spec, non_spec };

std::string kind_words(RowKind kind, std::size_t count) {
  constexpr std::array<std::string_view, 4> kOne = {"decode", "prefill", "spec decode",
                                                    "non-spec row"};
  const std::string_view word = kOne[static_cast<std::size_t>(kind)];
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

class BatchRowsMaker {
 public:
  BatchRowsMaker(const ShownRun& run, const Selection& selection)
      : run_(run), view_(run.view()), trace_(view_.trace), selection_(selection) {}

  BatchRowsModel make() {
    if (trace_.rows.empty()) {
      model_.empty = run_.level() == RecordLevel::counts
                         ? "The session keeps no rows: it was recorded at level counts."
                         : "No request got a token in this step.";
      return std::move(model_);
    }
    model_.num_tokens = trace_.num_scheduled_tokens;
    add_rows();
    add_sections();
    add_padding();
    model_.graph = explain_dispatch({.dispatch = trace_.graph,
                                     .num_tokens = trace_.num_scheduled_tokens,
                                     .num_reqs = static_cast<std::int32_t>(trace_.rows.size()),
                                     .uniform_decode = trace_.uniform_decode,
                                     .num_spec = view_.config.num_speculative_tokens});
    return std::move(model_);
  }

 private:
  void add_rows() {
    std::int32_t first = 0;
    for (const RowTrace& row : trace_.rows) {
      const ScheduledTrace& scheduled = trace_.scheduled_of(row);
      ShownBatchRow shown;
      shown.request = row.request;
      shown.name = view_.names.request(row.request);
      shown.slot = row.slot;
      shown.row_class = value_names::name(row.row_class);
      shown.origin = explain_row_origin(row);
      shown.moved = row.origin == RowOrigin::moved;
      shown.num_computed_tokens = row.num_computed_tokens;
      shown.num_query_tokens = scheduled.num_scheduled_tokens;
      shown.num_draft_count = row.num_draft_count;
      shown.num_accepted_tokens = row.num_accepted_tokens;
      shown.num_accepted_tokens_before = row.num_accepted_tokens_before;
      const auto own = run_.own_count(row.request);
      shown.is_wrong_count = is_wrong_count(trace_, row, own);
      shown.count_words = count_origin_words(trace_, row, own, view_.names);
      shown.first_token = first;
      model_.has_slots = model_.has_slots || row.slot >= 0;
      model_.segments.push_back({.row = static_cast<std::int32_t>(model_.rows.size()),
                                 .first_token = first,
                                 .num_tokens = shown.num_query_tokens,
                                 .row_class = row.row_class,
                                 .label = shown.name});
      first += shown.num_query_tokens;
      model_.rows.push_back(std::move(shown));
    }
  }

  // The selected group if its metadata is there, else the first with metadata.
  const GroupTrace* group() const {
    const GroupTrace* shown = nullptr;
    for (const GroupTrace& group : trace_.groups)
      if (group.metadata && (shown == nullptr || group.group == selection_.group)) shown = &group;
    return shown;
  }

  std::vector<RowKind> kinds() {
    std::vector<RowKind> kinds;
    for (const RowTrace& row : trace_.rows)
      kinds.push_back(row.row_class == RowClass::prefill ? RowKind::prefill : RowKind::decode);
    const GroupTrace* shown = group();
    model_.divided = "divided by the class of each row: no metadata of a recurrent group is kept";
    if (shown == nullptr) return kinds;
    model_.divided = "divided as for " + view_.names.group(shown->group);
    if (!shown->accepted_counts_given && view_.config.num_speculative_tokens > 0)
      model_.counts = "The builders were given no accepted counts in this step.";
    const bool by_spec = metadata_rows(*shown->metadata, 0).by_spec;
    for (const ForwardPlaces& row : forward_rows(trace_, *shown, view_.config.mamba_cache_mode)) {
      const bool spec = row.is_decode && row.counts_given;
      kinds[static_cast<std::size_t>(row.row)] =
          by_spec ? (spec ? RowKind::spec : RowKind::non_spec)
                  : (row.is_decode ? RowKind::decode : RowKind::prefill);
    }
    return kinds;
  }

  void add_sections() {
    const std::vector<RowKind> of_rows = kinds();
    for (std::size_t first = 0; first < of_rows.size();) {
      std::size_t end = first + 1;
      while (end < of_rows.size() && of_rows[end] == of_rows[first]) ++end;
      model_.sections.push_back({.label = kind_words(of_rows[first], end - first),
                                 .first_segment = first,
                                 .num_segments = end - first});
      first = end;
    }
  }

  void add_padding() {
    const CudagraphDispatch& graph = trace_.graph;
    model_.num_tokens_padded = std::max(graph.num_tokens_padded, model_.num_tokens);
    if (graph.pads_metadata())
      model_.num_padding_rows =
          std::max(graph.num_reqs_padded - static_cast<std::int32_t>(trace_.rows.size()), 0);
    const std::int32_t num_tokens = model_.num_tokens_padded - model_.num_tokens;
    if (num_tokens == 0) return;
    model_.sections.push_back({.label = fmt::format("+{} padding", num_tokens),
                               .first_segment = model_.segments.size(),
                               .num_segments = 1});
    model_.segments.push_back({.first_token = model_.num_tokens,
                               .num_tokens = num_tokens,
                               .row_class = RowClass::padding,
                               .label = fmt::format("{}", num_tokens)});
  }

  const ShownRun& run_;
  StepView view_;
  const StepTrace& trace_;
  Selection selection_;
  BatchRowsModel model_;
};

// Pixels that all segments take at `scale` pixels per token.
float width_at(std::span<const AxisSegment> segments, float scale, float least) {
  return std::accumulate(
      segments.begin(), segments.end(), 0.0F, [&](float sum, const AxisSegment& segment) {
        return sum + std::max(static_cast<float>(segment.num_tokens) * scale, least);
      });
}

// Pixels per token at which the segments fill the room.
float scale_for(std::span<const AxisSegment> segments, AxisRoom room) {
  std::int32_t num_tokens = 0;
  for (const AxisSegment& segment : segments) num_tokens += segment.num_tokens;
  const float proportional = room.room / static_cast<float>(std::max(num_tokens, 1));
  if (static_cast<float>(segments.size()) * room.least >= room.room) return proportional;
  float low = 0;
  float high = proportional;
  for (int i = 0; i < 32; ++i) {
    const float middle = (low + high) / 2;
    (width_at(segments, middle, room.least) > room.room ? high : low) = middle;
  }
  return high;
}

}  // namespace

BatchRowsModel make_batch_rows_model(const ShownRun& run, const Selection& selection) {
  return BatchRowsMaker(run, selection).make();
}

std::string batch_words(const BatchRowsModel& model, const ShownRun& run) {
  return fmt::format("Step {} of {}. {}", run.step(), known_steps_words(run), model.graph);
}

std::vector<Fact> describe_row(const ShownBatchRow& row, std::int32_t number) {
  std::vector<Fact> facts;
  facts.push_back({"row", fmt::format("{} ({})", number, row.origin)});
  if (row.slot >= 0) facts.push_back({"slot", fmt::format("{}", row.slot)});
  facts.push_back({"request", row.name});
  facts.push_back({"class", std::string(row.row_class)});
  facts.push_back({"tokens of the batch", fmt::format("{}..{}", row.first_token,
                                                      row.first_token + row.num_query_tokens - 1)});
  facts.push_back({"positions of the request",
                   fmt::format("{}..{}", row.num_computed_tokens,
                               row.num_computed_tokens + row.num_query_tokens - 1)});
  facts.push_back({"drafts", row.num_draft_count < 0 ? std::string("none")
                                                     : fmt::format("{}", row.num_draft_count)});
  std::string count = fmt::format("{}", row.num_accepted_tokens);
  if (row.num_accepted_tokens_before != row.num_accepted_tokens)
    count += fmt::format(" ({} before the pre-copies)", row.num_accepted_tokens_before);
  facts.push_back({"accepted count", count});
  facts.push_back({"count at the start", row.count_words});
  return facts;
}

std::vector<float> fit_axis(std::span<const AxisSegment> segments, AxisRoom room) {
  const float scale = scale_for(segments, room);
  std::vector<float> edges = {0};
  for (const AxisSegment& segment : segments)
    edges.push_back(edges.back() +
                    std::max(static_cast<float>(segment.num_tokens) * scale, room.least));
  return edges;
}

namespace {

constexpr std::array<ColumnWords, 11> kBatchRowColumns = {{
    {"Row", "Row of the persistent batch; every array of the metadata is in this order"},
    {"Slot", "V2: where the request's tokens, counts and block table stay (idx_mapping)"},
    {"Request", "The request of the row", ColumnKind::name},
    {"Class", "What the row is: taken from the request, not from the row's shape",
     ColumnKind::words},
    {"c", "Tokens computed before the step, exact (num_computed_tokens)"},
    {"q", "Tokens of this step (num_scheduled_tokens)"},
    {"Drafts", "num_decode_draft_tokens as given to the builders; -1: a row without drafts"},
    {"a", "num_accepted_tokens given to the builders, after the pre-copies"},
    {"Count of",
     "Whose accepted count the row starts with and which step wrote it; the request's own if that "
     "is another one; fresh: 1, of a request that was just admitted",
     ColumnKind::words},
    {"Tokens", "The row's tokens in the batch (query_start_loc)"},
    {"Origin", "Why the row is here, and where it was in the step before", ColumnKind::remark},
}};
constexpr std::ptrdiff_t kSlotColumn = 1;

// "5..7"; "5" of one token.
std::string range_words(std::size_t first, std::size_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}..{}", first, first + count - 1);
}

TableRow batch_table_row(const ShownBatchRow& row, std::size_t number) {
  TableRow cells = {number_cell(static_cast<std::int64_t>(number)),
                    known_cell(row.slot),
                    words_cell(row.name),
                    words_cell(row.row_class),
                    number_cell(row.num_computed_tokens),
                    number_cell(row.num_query_tokens),
                    known_cell(row.num_draft_count),
                    number_cell(row.num_accepted_tokens),
                    words_cell(row.count_words, row.is_wrong_count ? Tone::error : Tone::dim),
                    words_cell(range_words(static_cast<std::size_t>(row.first_token),
                                           static_cast<std::size_t>(row.num_query_tokens))),
                    words_cell(row.origin, row.moved ? Tone::info : Tone::normal)};
  cells.mark = "row " + row.name;
  cells.clicks = {{"select.request", quoted_word(row.name)}};
  return cells;
}

// The row of the table that stands for all padding rows.
TableRow padding_table_row(const BatchRowsModel& model) {
  const std::string rows =
      range_words(model.rows.size(), static_cast<std::size_t>(model.num_padding_rows));
  return {words_cell(rows, Tone::dim),
          {},
          words_cell("padding", Tone::dim),
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          words_cell("no tokens, null blocks", Tone::dim)};
}

Table rows_table(const BatchRowsModel& model, Workbench& workbench) {
  Table table{.title = "Rows", .headings = headings_of(kBatchRowColumns)};
  const DifferenceMarks* const marks = workbench.differences();
  for (std::size_t i = 0; i < model.rows.size(); ++i) {
    const ShownBatchRow& row = model.rows[i];
    TableRow& cells = table.rows.emplace_back(batch_table_row(row, i));
    cells.is_selected = row.request == workbench.selection().request;
    const RequestDifferences* const of = marks != nullptr ? marks->of(row.name) : nullptr;
    cells.differs = of != nullptr && of->row;
  }
  if (model.num_padding_rows > 0) table.rows.push_back(padding_table_row(model));
  table.facts = [rows = model.rows](std::size_t i) {
    return describe_row(rows[i], static_cast<std::int32_t>(i));
  };
  if (model.has_slots) return table;
  table.headings.erase(table.headings.begin() + kSlotColumn);
  for (TableRow& row : table.rows) row.cells.erase(row.cells.begin() + kSlotColumn);
  return table;
}

// How the tokens of the batch are divided, from left to right.
std::vector<Strip> axis_strips(const BatchRowsModel& model) {
  Strip rows{.title = "tokens, row by row", .num_tokens = model.num_tokens_padded};
  for (const AxisSegment& segment : model.segments) {
    const std::int32_t last = segment.first_token + segment.num_tokens;
    rows.parts.push_back(
        {.first = segment.first_token,
         .last = last,
         .words = std::string(segment.row < 0 ? role_name(CellRole::padding) : segment.label),
         .role = segment.row < 0 ? std::optional(CellRole::padding) : std::nullopt,
         .is_selected = true});
  }
  Strip sections{.title = "how the builder divides them", .num_tokens = model.num_tokens_padded};
  for (const AxisSection& section : model.sections) {
    const AxisSegment& first = model.segments[section.first_segment];
    const AxisSegment& last = model.segments[section.first_segment + section.num_segments - 1];
    sections.parts.push_back({.first = first.first_token,
                              .last = last.first_token + last.num_tokens,
                              .words = section.label});
  }
  return {std::move(rows), std::move(sections)};
}

std::string axis_words(const BatchRowsModel& model) {
  std::string words = counted(model.num_tokens, "token");
  words += model.num_tokens_padded > model.num_tokens
               ? fmt::format(", padded to {}", model.num_tokens_padded)
               : std::string(", no padding");
  return model.divided.empty() ? words : words + "; " + model.divided;
}

}  // namespace

Picture batch_rows_picture(Workbench& workbench) {
  return batch_rows_picture(make_batch_rows_model(*workbench.run(), workbench.selection()),
                            workbench);
}

Picture batch_rows_picture(const BatchRowsModel& model, Workbench& workbench) {
  if (model.rows.empty()) return {.notes = {model.empty}};
  Picture picture{.tables = {rows_table(model, workbench)}};
  picture.tables.front().note = axis_words(model);
  picture.tables.front().strips = axis_strips(model);
  const ShownRun& run = *workbench.run();
  add_note(picture, fmt::format("Step {} of {}.", run.step(), known_steps_words(run)));
  add_note(picture, model.graph);
  add_note(picture, model.counts);
  return picture;
}

}  // namespace hybridscope
