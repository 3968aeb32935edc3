// Compares what the shown step left in a block with what it was meant to leave: S(n), the state
// after n tokens of a row's request. What a state copy moved is read from the log of writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/symbolic_state.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

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
