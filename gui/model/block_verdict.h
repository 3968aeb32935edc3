// Whether a block holds what it should at the end of the shown step, and how that is known: from
// the checker's findings, from its label, or because the step read it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check/symbolic_state.h"
#include "core/trace/step_trace.h"
#include "gui/model/block_cell.h"
#include "gui/model/shown_run.h"
#include "gui/model/step_arrays.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {

enum class VerdictReason : std::uint8_t {
  none,
  named_now,     // a finding of this step names the block
  named_before,  // a finding of an earlier step does, and the content has not changed since
  padding_row,   // a padding row wrote it
  wrong_start,   // a row that had started from a wrong state wrote it
  label_differs,
  label_agrees,
  read_right,  // this step's forward pass read it
};

struct BlockVerdict {
  CellState state = CellState::unknown;
  VerdictReason reason = VerdictReason::none;
  std::int64_t step = 0;                  // of the finding
  Rule rule = Rule::running_state_wrong;  // of the finding
};
// "wrong: label-mismatch in step 4"; without a reason the state alone.
std::string verdict_words(const BlockVerdict& verdict);

// The verdicts of the shown step, valid until the run moves.
class BlockVerdicts {
 public:
  // Requires: run.step() > 0.
  explicit BlockVerdicts(const ShownRun& run);

  // `facts`: of the block, all parts. `group`: whose table has it; -1: none, or not known.
  BlockVerdict of(std::int32_t block, const BlockFacts& facts, std::int32_t group) const;
  // Does its content match its registration? True as well where keys and values were written on
  // behind a prefix that ends inside the block: those of the prefix stay, and the last write no
  // longer tells what they are. Requires: it is registered.
  bool agrees(const BlockFacts& facts) const;
  // Is a finding, of this step or before, about it?
  bool is_named(std::int32_t block) const;

 private:
  bool is_mamba(const BlockFacts& facts, std::int32_t group) const;
  bool is_labelled(const BlockFacts& facts, bool is_mamba) const;
  bool is_written_on(const BlockFacts& facts) const;
  BlockVerdict by_writes(std::int32_t block, const BlockFacts& facts, std::int32_t group) const;
  bool was_read(std::int32_t block, const HeldContent& held, ContentKind content) const;
  void add_reads(const GroupTrace& group);

  const ShownRun& run_;
  StepView view_;
  std::unordered_map<std::int32_t, const Finding*> named_;  // the step's first one of each block
  std::set<std::pair<std::int32_t, ContentKind>> read_;     // by rows that the checker executed
};

// A graph replay with arrays that no build of its step wrote: it reads what an earlier step left in
// the buffers.

// What such a replay reads, and what that means for the blocks as shown.
std::string stale_words(const GroupTrace& group, std::int64_t step);
// The array that it really read, as the step before built it; null: another step or only the
// capture did, which is not kept.
const NamedArray* left_in_buffers(const NamedStepArrays& before, const GroupTrace& group,
                                  std::string_view name);

// Compares what the shown step left in a block with what it was meant to leave: S(n), the state
// after n tokens of a row's request. What a state copy moved is read from the log of writes.

// not_known: no evidence against it, and the session does not record what would prove it.
enum class StateTruth : std::uint8_t { not_known, right, wrong };

struct CopiedState {
  StateTruth temporal = StateTruth::not_known;
  StateTruth conv = StateTruth::not_known;
  std::int32_t num_tokens = -1;       // n of the state S(n) that was copied
  std::int32_t last_conv_token = -1;  // the window copied ends with it; -1: not known
};

// A copy, and what it is meant to leave: S(num_tokens).
struct CopyMeant {
  WriteKind kind = WriteKind::pre_copy;
  std::int32_t group = -1;
  std::int32_t dst_block = -1;
  std::int32_t row = -1;  // of the batch
  std::int32_t num_tokens = 0;
};

// A row of the batch in one group.
struct RowPlace {
  std::int32_t row = -1;
  std::int32_t group = -1;
};

class MeantStates {
 public:
  explicit MeantStates(const ShownRun& run);
  CopiedState of_copy(const CopyMeant& meant) const;
  // Is the block's temporal state S(num_tokens) of the row's request? Requires: the row is in the
  // batch.
  StateTruth of_block(const RowPlace& row, std::int32_t block, const HeldContent& held,
                      std::int32_t num_tokens) const;
  // A finding of this step about the state that the row starts from; null: none.
  const Finding* wrong_start(const RowPlace& row) const;

 private:
  const StateWrite* write_of(const CopyMeant& meant, ContentKind content) const;
  bool is_blamed(std::int32_t block, ContentKind content, const WriteEvent& event) const;

  const ShownRun& run_;
  StepView view_;
  RowTruth truth_;  // sessions do not keep tokens
  bool has_tokens_ = false;
};

struct CopyTerms {
  std::int32_t num_tokens = 0;  // as meant
  bool has_temporal = true;     // do the layers keep a temporal state?
  bool has_conv = true;
};
// "Meant to be S(8), but it holds S(6)."; one for each wrong content, one in all for a request that
// has to start from zeros.
std::vector<std::string> copy_faults(const CopiedState& copied, const CopyTerms& terms);

}  // namespace hybridscope
