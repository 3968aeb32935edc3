// A language model that runs on an engine's decisions: after each step its forward pass is made
// out of the step's metadata and the blocks that copies left, and every state, token and accepted
// count is held against a lone run of each request (numerics). The engine's decisions stay those
// of its own draws; the text is the model's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/language/group_rows.h"
#include "core/language/language_machine.h"
#include "core/language/language_values.h"
#include "core/language/replayed_buffers.h"
#include "core/language/spoken_texts.h"
#include "core/language/state_judge.h"
#include "core/language/step_copies.h"
#include "core/language/twin_sequence.h"
#include "core/model/kv_cache_spec.h"
#include "core/numeric/model_forward.h"
#include "core/state/state_ops.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

struct LanguageConfig {
  KVCacheConfig kv_cache_config{};
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
  std::int32_t num_speculative_tokens = 0;  // K
  std::int32_t missing_conv_positions = 0;  // that verify rows use and blocks lack (known bug 25)
  NumericForm form = NumericForm::recurrent;
  std::int32_t max_num_tokens = 0;  // of a step, padding included; 0: not known
  // The engine is one of ours: a machine with its kernels may decide about copies by itself.
  bool has_own_engine = false;
  // A trace of another model: its tokens are taken as they are, and no count is compared.
  bool forces_tokens = false;
  std::int32_t num_likely = 0;  // most probable tokens that are kept with each token
};

// Token `position` of a request's sequence, generated or not.
using TokenContentOf = std::function<TokenContent(RequestId request, std::int32_t position)>;

// A verify row whose logits accept another number of tokens than the engine's draws.
struct AcceptanceDifference {
  RequestId request{};
  std::int32_t row = -1;
  std::int32_t by_engine = 0;  // bonus token included
  std::int32_t by_logits = 0;
};

// A row whose logits are not, bit for bit, those of the lone run with the same tokens.
struct LogitsDifference {
  RequestId request{};
  std::int32_t row = -1;
  std::int32_t position = 0;  // of the token that they choose
  std::int32_t id = 0;
  std::int32_t twin_id = 0;
};

struct LanguageStep {
  std::vector<ComparedState> compared;  // reads before writes; none with form chunked
  std::vector<StateDifference> states;  // of `compared`
  std::vector<WriteEvent> writers;      // [states] what left the state that differs
  std::vector<LogitsDifference> logits;
  std::vector<AcceptanceDifference> accepted;
  StepWords words;
};

class LanguageRun {
 public:
  // `model` must outlive it. `make_machine`: where the model runs; null: on the host. Errors: those
  // of MakeLanguageMachine.
  static Result<std::unique_ptr<LanguageRun>> create(const HybridModel& model,
                                                     const LanguageConfig& config,
                                                     const MakeLanguageMachine& make_machine = {});
  ~LanguageRun();

  // Runs a step: `ops` are what the checker executed of it. Steps come in order. Valid until the
  // next call.
  const LanguageStep& follow(const StepTrace& trace, const StateOps& ops,
                             const TokenContentOf& content_of);
  // How the machine stands after follow(). Error: the device's; there is no next step then.
  const Status& status() const { return status_; }

  // The texts of all requests that had a row, by request, as far as the scheduler took their
  // tokens. A text that parts from the lone run's has what the lone run says by itself.
  std::vector<SpokenText> texts() const;

 private:
  struct Spoken;
  struct Row;
  LanguageRun(const HybridModel& model, const LanguageConfig& config,
              std::unique_ptr<LanguageMachine> machine);

  void run_dummy_rows(const StepTrace& trace);
  Spoken& spoken(const StepTrace& trace, std::size_t row, const TokenContentOf& content_of);
  Row prepare_row(const StepTrace& trace, std::size_t index, const TokenContentOf& content_of);
  void read_groups(const StepTrace& trace);
  void follow_twin(Row& row);
  void choose_drafts(const StepTrace& trace, Row& row, const TokenContentOf& content_of);
  void run_rows(const StepTrace& trace, std::vector<Row>& rows, const TokenContentOf& content_of);
  void keep_states(const StepTrace& trace, std::span<const Row> rows, bool reads);
  std::int32_t num_accepted(const StepTrace& trace, const Row& row,
                            std::span<const std::int32_t> greedy) const;
  void sample(const StepTrace& trace, Row& row, const TokenContentOf& content_of);
  void note_rejected(const StepTrace& trace, const Row& row);
  void add_token(SpokenToken token, TokenContent content, RequestId request, Spoken& spoken);

  const HybridModel& model_;
  LanguageConfig config_;
  std::unique_ptr<LanguageMachine> machine_;
  StepCopies copies_;
  StateJudge judge_;
  BlockWriters writers_;
  Status status_ = Ok{};
  ModelTokenIds ids_;
  std::vector<ReplayedBuffers> buffers_;  // [groups]
  std::vector<GroupRows> groups_;
  std::vector<ForwardGroup> forward_groups_;
  std::vector<std::int32_t> token_ids_;  // [T] of the step, padding included
  std::vector<std::int32_t> positions_;
  std::map<RequestId, Spoken> spoken_;
  SpokenTexts texts_;
  LanguageStep step_;
};

}  // namespace hybridscope
