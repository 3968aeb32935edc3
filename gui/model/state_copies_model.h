// The decisions of a step about copying state, and what one request's copies move where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/block_table_model.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"
#include "sessions/explain/explain_parts.h"

namespace hybridscope {

class Workbench;

// The conv windows of one state copy, position by position: which tokens the source block holds,
// which of them move, and what the destination holds afterwards (semantics: decode-conv).

enum class ConvHolds : std::uint8_t {
  before_first,  // zeros: there is no token 0
  token,         // of the prompt or the output
  accepted,      // a draft of this step that became output
  rejected,      // a draft that did not
  left_over,     // earlier content, not tracked here; nothing reads it
  not_known,     // unknown, or not the tokens that the decision assumes
};
inline constexpr std::size_t kNumConvHolds = 6;
// "token", "rejected draft", "not tracked".
std::string_view conv_holds_name(ConvHolds holds);

struct ConvPosition {
  ConvHolds holds = ConvHolds::left_over;
  std::int32_t token = 0;  // number from 1; 0 where it is before_first or left_over
  bool copied = false;     // source: it is copied; destination: the copy wrote it
  bool in_window = false;  // one of the W - 1 tokens that the next step reads
  friend bool operator==(const ConvPosition&, const ConvPosition&) = default;
};

struct ConvCopy {
  std::int32_t bias = 0;                  // position bias + i goes to position i
  std::vector<ConvPosition> source;       // [W - 1 + K] before the copy
  std::vector<ConvPosition> destination;  // [W - 1 + K] after it
};

// What is known about the source at the copy.
struct ConvCopyTerms {
  std::int32_t conv_kernel = 4;             // W
  std::int32_t num_speculative_tokens = 0;  // K
  std::int32_t accept_token_bias = 0;
  std::int32_t num_tokens = 0;          // n: the copy is to leave S(n) in the destination
  std::int32_t num_real_tokens = 0;     // tokens up to this number were not drafts
  std::int32_t num_accepted_up_to = 0;  // drafts up to this number were accepted
  std::int32_t last_written = 0;        // number of the last token that was written to the source
  bool same_block = false;              // the destination is the source
  bool tokens_known = true;  // false: the source does not hold the tokens that follow from n
};

// Position bias + W - 2 of the source holds token n, its neighbours the adjacent tokens.
// Requires: 0 <= accept_token_bias <= W - 1 + K.
ConvCopy make_conv_copy(const ConvCopyTerms& terms);

// The legend of all formulas.
inline constexpr std::string_view kFormulaLetters =
    "c: tokens computed before the step; q: tokens it runs, d of them drafts; a: accepted tokens, "
    "the bonus token included; B: tokens a block; S(n): the state after n tokens.";

// `first`: copies of whole blocks, before anything else of the step touches state.
enum class CopyMoment : std::uint8_t { first, before_forward, after_sampling };
// "first", "before forward".
std::string_view copy_moment_name(CopyMoment moment);

// One decision, in a list.
struct StateCopyRow {
  CopyMoment moment = CopyMoment::before_forward;
  // Index into the launch's decisions; -1: none was made, as `why` says, or a block is copied.
  std::int32_t decision = -1;
  std::int32_t block_copy = -1;  // index into StateCopiesModel::block_copies; -1: another copy
  RequestId request{};
  std::string name;
  std::string_view rule{};
  std::string_view outcome{};
  bool copies = false;
  // "0, 1 -> 0": conv source, temporal source if different, destination; "-": nothing is copied and
  // there is no destination.
  std::string columns;
  std::optional<std::int32_t> bias;  // empty: there is no destination
  std::string why;                   // the result: the last part of the formula
  std::string in_words;              // the whole formula
};

// "B before forward: copy, columns 1 -> 2, bias 0": the row without its reason.
std::string copy_row_sentence(const StateCopyRow& row);

// A column of the request's block table and the block that the copy used for it.
struct CopyPlace {
  std::int32_t column = -1;
  std::int32_t block = -1;
};

// One column of the drawing.
struct CopyCell {
  std::int32_t column = -1;
  std::int32_t slot = 0;  // its place; a free slot marks columns left out
  BlockCell cell;
};

struct StateCopyDrawing {
  std::int32_t group = -1;
  std::string group_name;
  bool has_temporal = true;  // do the group's layers keep a temporal state?
  bool has_conv = true;
  CopyPlace temporal_source;
  CopyPlace conv_source;
  CopyPlace destination;
  std::int32_t num_tokens = 0;      // n: what the destination is to hold, S(n)
  std::int32_t held_tokens = 0;     // of the state that was copied; n where not known
  std::vector<std::string> faults;  // what it holds instead, one sentence each
  std::string note;                 // what is not known; empty: nothing
  ConvCopy conv;
  // Columns of the request's row of the worker's block table around the three places, ascending.
  std::vector<CopyCell> cells;
  bool goes_on = false;  // there are more columns after them

  // The column's slot in the drawing. Requires: it is among the cells.
  std::int32_t slot_of(std::int32_t column) const;
};

inline constexpr std::string_view kDrawnAsDecided =
    "Drawn as decided: what the blocks really held is kept at level full only.";

// A copy of a whole block (semantics: copy-on-write): an arrow from block to block.
struct BlockCopyDrawing {
  std::int32_t group = -1;
  std::string group_name;
  BlockCell source;  // as both are at the end of the step
  BlockCell destination;
  std::int32_t source_column = -1;  // of the request's block table; -1: the prefix cache has it
  std::int32_t destination_column = -1;
  std::string words;  // "block 6 -> 8: A writes on in block 6, and ..."
};
// "column 2", "prefix cache".
std::string copy_place_words(std::int32_t column);

// One decision in full.
struct StateCopyDetail {
  CopyMoment moment = CopyMoment::before_forward;
  std::string title;                           // "after sampling: within_block_shift"
  std::vector<std::string> formula;            // one term per line, the numbers filled in
  std::string_view source{};                   // where the rule comes from
  std::optional<StateCopyDrawing> drawing;     // of decisions that copy
  std::vector<BlockCopyDrawing> block_copies;  // the request's, in their order, in one detail
};

struct StateCopiesModel {
  std::vector<StateCopyRow> rows;                // by moment; of one moment those that copy first
  std::vector<ExplainedBlockCopy> block_copies;  // in the order in which the step makes them
  std::int32_t num_decisions = 0;
  std::int32_t num_copying = 0;
  std::string empty;  // why there are no rows
  // The selected request, else the first one that copies, else the first.
  RequestId request{};
  std::string name;
  std::vector<StateCopyDetail> details;
};

// "3 decisions, 1 copying; 2 block copies before them".
std::string decisions_words(const StateCopiesModel& model);

// Requires: run.step() > 0.
StateCopiesModel make_state_copies_model(ShownRun& run, const Selection& selection);

// The list of decisions, then their formulas and what moves as tables. Requires: a step is shown.
Picture state_copies_picture(Workbench& workbench);
Picture state_copies_picture(const StateCopiesModel& model, Workbench& workbench);

// Does the decision differ from the other run of a comparison?
bool differs_in(Workbench& workbench, const std::string& request, CopyMoment moment);

}  // namespace hybridscope
