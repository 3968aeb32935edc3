// The rows of a step's batch, and their tokens in order along an axis.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/block_cell.h"
#include "gui/model/column_words.h"
#include "gui/model/facts.h"
#include "gui/model/selection.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

struct ShownBatchRow {
  RequestId request{};
  std::string name;
  std::int32_t slot = -1;  // V2
  std::string_view row_class{};
  std::string origin;                    // "moved from 2"
  bool moved = false;                    // it was in another row in the step before
  std::int32_t num_computed_tokens = 0;  // exact c
  std::int32_t num_query_tokens = 0;     // q
  std::int32_t num_draft_count = -1;     // as given to the builders, -1: a row without drafts
  std::int32_t num_accepted_tokens = 1;  // a given to the builders
  std::int32_t num_accepted_tokens_before = 1;
  // Whose accepted count it starts with: "own, of step 3", "fresh", "1, own 3 of step 3".
  std::string count_words;
  bool is_wrong_count = false;   // it is not the request's own
  std::int32_t first_token = 0;  // of the batch
};

// The columns of the list of rows.
inline constexpr std::array<ColumnWords, 11> kBatchRowColumns = {{
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
inline constexpr int kSlotColumn = 1;
inline constexpr int kBatchRequestColumn = 2;
inline constexpr int kCountColumn = 8;
inline constexpr int kOriginColumn = 10;
// Requires: number < rows.size().
std::array<std::string, kBatchRowColumns.size()> batch_row_cells(const ShownBatchRow& row,
                                                                 std::size_t number);
// "5..7": the row's tokens in the batch.
std::string batch_row_tokens(const ShownBatchRow& row);

// A row's tokens, or padding, along the axis.
struct AxisSegment {
  std::int32_t row = -1;  // -1: padding
  std::int32_t first_token = 0;
  std::int32_t num_tokens = 0;
  RowClass row_class = RowClass::padding;
  std::string label;
};

// Neighbouring rows that the group's builder treats alike.
struct AxisSection {
  std::string label;  // "2 decodes"
  std::size_t first_segment = 0;
  std::size_t num_segments = 0;
};

struct BatchRowsModel {
  std::vector<ShownBatchRow> rows;
  std::string empty;  // why there are none
  bool has_slots = false;
  std::vector<AxisSegment> segments;
  std::vector<AxisSection> sections;
  std::int32_t num_tokens = 0;         // T
  std::int32_t num_tokens_padded = 0;  // T' >= T
  std::int32_t num_padding_rows = 0;
  std::string graph;    // the graph that the step runs in, in words
  std::string divided;  // the group whose builder defines the sections
  std::string counts;   // says that no counts were given; empty: they were
};

// One line for all padding rows, below the others. Requires: there are some.
struct PaddingRowWords {
  std::string rows;  // "3..7"
  std::string_view name{};
  std::string_view origin{};
};
PaddingRowWords padding_row_words(const BatchRowsModel& model);

// Requires: run.step() > 0.
BatchRowsModel make_batch_rows_model(const ShownRun& run, const Selection& selection);

// "Step 3 of 3 steps so far, more can come. " and the graph: what comes last may be cut.
std::string batch_words(const BatchRowsModel& model, const ShownRun& run);

// The tooltip of a row.
std::vector<Fact> describe_row(const ShownBatchRow& row, std::int32_t number);

// Left edges of segments of these sizes in `room` pixels, and the right edge of the last: in
// proportion, but none narrower than `least`; wider than the room only if they do not fit.
struct AxisRoom {
  float room = 0;
  float least = 0;
};
std::vector<float> fit_axis(std::span<const AxisSegment> segments, AxisRoom room);

}  // namespace hybridscope
