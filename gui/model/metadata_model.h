// Every array of every metadata builder of a step: dtype, shape, values, which elements differ from
// the step before, and what a replayed graph reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/metadata/metadata_description.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/step_arrays.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

// How a captured graph uses an array.
enum class ReplaySign : std::uint8_t {
  none,
  persistent,  // a graph reads it, but none was replayed in this step
  read,        // read by the graph of this step
  stale,       // read by the graph of this step, though no build wrote it in this step
};

struct SignWords {
  const char* letter;
  std::string_view words;
};
SignWords sign_words(ReplaySign sign);
inline constexpr std::string_view kSignLegend =
    "G: the graph of this step reads it; !: stale; p: a buffer that full graphs read";
inline constexpr std::string_view kNoMetadata =
    "This session was recorded without metadata: that needs level full.";

struct MetadataArray {
  NamedArray array;
  std::string dtype;
  std::string shape;  // "[4,3]"
  std::string note;   // shown in place of values
  ReplaySign sign = ReplaySign::none;
  std::vector<std::uint8_t> changed;  // [elements of the array's values]; empty: none did
  std::int64_t num_changed = 0;
  bool reshaped = false;           // in the step before it had another shape or was None
  std::int64_t selected_row = -1;  // index in the first dimension of the selected request's row
  std::vector<ValuePiece> pieces;  // the first ones
  bool holds_blocks = false;       // values are block ids
  std::size_t widest = 0;          // characters of its longest element

  std::int64_t num_columns() const { return hybridscope::num_columns(array); }
  bool is_changed(std::int64_t index) const {
    return static_cast<std::size_t>(index) < changed.size() &&
           changed[static_cast<std::size_t>(index)] != 0;
  }
};

// "3 4 -1 x7"; for a long array the first values and how many they are.
std::string values_words(const MetadataArray& array);

struct MetadataSection {
  std::int32_t group = -1;            // -1: of the whole batch
  std::string title;                  // "group 1 (mamba2)"
  std::string builder;                // the reference's class
  std::string note;                   // how it was built, what the replayed graph reads
  std::string warning;                // empty: nothing to warn of
  std::vector<std::string> replayed;  // stale replay: what it really read, one line each
  std::vector<MetadataArray> arrays;
  std::string absent;  // names of arrays that are None
  // One line for each row that stores a state on its way (semantics: checkpoint-metadata).
  std::vector<std::string> checkpoints;
  MetadataRows rows;  // the batch rows that elements of the arrays belong to
};

struct MetadataModel {
  std::vector<MetadataSection> sections;
  std::string note;  // the step it is compared with
};

// Requires: run.step() > 0.
MetadataModel make_metadata_model(ShownRun& run, RequestId selected);

// The tooltip of one element. Requires: `array` is of a model of this step.
std::vector<Fact> describe_element(ShownRun& run, const MetadataSection& section,
                                   const MetadataArray& array, std::int64_t index);

// "unset": an element of a persistent buffer that no build has written.
std::string element_text(std::int64_t value);

// The list of a section's arrays. A click shows one in full, or no longer.
Table arrays_table(const MetadataSection& section, Workbench& workbench);

// What the panel shows. Requires: a step is shown.
Picture metadata_picture(Workbench& workbench);

// The arrays that tell a group's layers where tokens go: the worker's block table of the batch, and
// for attention the slot of each token.

// block_table_tensor if the trace has it, up to the last column that holds a block, and
// slot_mapping of an attention group that wrote. Padding rows and tokens are included.
std::vector<MetadataArray> table_arrays(const StepView& view, const GroupTrace& group);

inline constexpr std::string_view kTableNote =
    "block_table_tensor: columns behind the last block are left out";

}  // namespace hybridscope
