// The rows of a step's batch, and their tokens in order along an axis.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/block_cell.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

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

// Requires: run.step() > 0.
BatchRowsModel make_batch_rows_model(const ShownRun& run, const Selection& selection);

// The table of the rows, one line for all padding rows below the others, and the tokens along the
// axis as a table. Requires: a step is shown.
Picture batch_rows_picture(Workbench& workbench);
Picture batch_rows_picture(const BatchRowsModel& model, Workbench& workbench);

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
