// Compares what rows read and wrote with the lone runs of their requests, bit for bit (numerics:
// two forms and health; form recurrent, float32).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check/finding.h"
#include "core/language/group_rows.h"
#include "core/language/language_machine.h"
#include "core/language/language_values.h"
#include "core/numeric/lone_run.h"

namespace hybridscope {

// A place of a row and what it should hold.
struct JudgedPlace {
  const RowState& place;
  std::int64_t step = 0;
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t num_tokens = 0;            // of the request, that should be in it
  const std::vector<LayerStates>& truth;  // [layers] of the model, until append_differences()
  WriteEvent writer{};                    // that left what the place holds
};

class StateJudge {
 public:
  // Has the machine keep what the place holds now, in every layer of its group.
  void keep(LanguageMachine& machine, const JudgedPlace& judged);
  // After the machine's finish(): appends what differs, in the order of keep() and of the layers,
  // with what left it, and begins anew.
  void append_differences(const LanguageMachine& machine, std::vector<StateDifference>& out,
                          std::vector<WriteEvent>& writers);

 private:
  struct Kept {
    std::size_t number = 0;
    const std::vector<float>* truth = nullptr;
    StateDifference place;  // nothing of it compared yet
    WriteEvent writer;
  };
  std::vector<Kept> kept_;
};

// Do logits of a run agree with the lone run's (numerics: tolerances and verdicts)?

// Form recurrent: in every bit. Form chunked: within 1e-4 of the largest of the lone run's.
bool logits_agree(std::span<const float> logits, std::span<const float> twin_logits,
                  NumericForm form);

// Form chunked: may rounding choose another token, because the lone run's margin is small?
bool is_near_tie(std::span<const float> twin_logits);

}  // namespace hybridscope
