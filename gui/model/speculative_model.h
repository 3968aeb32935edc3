// The drafts of a step: which were accepted, where the state after each token is, and what the next
// step will read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {

class Workbench;

enum class StripTokenKind : std::uint8_t {
  given,        // prompt or output: known before the step
  accepted,     // a draft that became output
  rejected,     // a draft that did not
  placeholder,  // a draft with id -1, which is never accepted
  bonus,        // sampled by this step, run by the next
};
inline constexpr std::size_t kNumStripTokenKinds = 5;
std::string_view strip_token_name(StripTokenKind kind);

struct StripToken {
  StripTokenKind kind = StripTokenKind::given;
  std::int32_t first = 0;  // token numbers from 1, [first, last]
  std::int32_t last = 0;
  StatePlace state{-1, -1};  // where the state after `last` is; column -1: not kept
  bool next_reads = false;   // the state that the next step continues from
  friend bool operator==(const StripToken& a, const StripToken& b) {
    return a.kind == b.kind && a.first == b.first && a.last == b.last &&
           a.state.column == b.state.column && a.state.block == b.state.block &&
           a.next_reads == b.next_reads;
  }
};

struct SpeculativeRow {
  RequestId request{};
  std::string name;
  std::string_view row_class{};
  std::int32_t num_computed_tokens = 0;  // exact c, before the step
  std::int32_t scheduler_computed_tokens = 0;
  std::int32_t num_drafts_offered = 0;
  std::int32_t num_draft_tokens = 0;
  std::int32_t num_accepted_tokens_before = 1;
  std::int32_t num_sampled_tokens = 0;        // a of this step, bonus token included
  std::int32_t num_accepted_tokens_next = 1;  // count given to the next step
  std::string sample;                         // what was accepted, in words
  bool has_source = false;                    // false: starts from zeros, or not recorded
  StatePlace source{-1, -1};                  // S(c)
  std::vector<StripToken> tokens;
  bool starts_wrong = false;  // what the step read is not S(c), so its later states are wrong too
  bool is_finished = false;   // nothing reads its state any more
  std::int32_t num_tokens_next = 0;   // n of the state S(n) that the next step needs
  StatePlace next_read{-1, -1};       // where that is; column -1: not known
  StatePlace without_drafts{-1, -1};  // read instead by a step that passes no count
  StatePlace after_pause{-1, -1};     // read instead after a step without the request
  std::string next;                   // in words
  std::vector<std::string> faults;    // what is wrong, one sentence each
};

struct SpeculativeModel {
  std::vector<SpeculativeRow> rows;
  std::string empty;        // why there are none
  std::string in_flight;    // what is not known yet; empty: everything is known
  std::string no_places;    // why columns are missing; empty: they are there
  std::string policies;     // why columns other than the accepted counts' are read; empty: none
  std::int32_t group = -1;  // the group of the columns
  std::string group_name;
};

// Rows that have drafts, or are past their prompt and could have some. Requires: run.step() > 0.
SpeculativeModel make_speculative_model(ShownRun& run, const Selection& selection);

// The list of drafts, and the words and tokens of each row as tables. Requires: a step is shown.
Picture speculative_picture(Workbench& workbench);
Picture speculative_picture(const SpeculativeModel& model, const Workbench& workbench);

}  // namespace hybridscope
