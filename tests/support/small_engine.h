// Small engines for tests (an attention group, and mamba groups with blocks of a few tokens), and a
// run that steps an engine under the checker.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/policy_set.h"
#include "core/check/state_mirror.h"
#include "core/check/step_checker.h"
#include "core/engine/engine.h"

namespace hybridscope::test {

struct SmallEngine {
  MambaType mamba_type = MambaType::mamba2;
  MambaCacheMode mode = MambaCacheMode::align;
  std::int32_t block_size = 8;
  std::int32_t num_speculative_tokens = 0;
  SpeculativeMethod method = SpeculativeMethod::none;  // mtp if there are speculative tokens
  std::int32_t num_blocks = 64;
  std::int32_t num_mamba_groups = 1;
  std::int32_t num_attention_groups = 1;
  std::int32_t max_model_len = 256;
  std::int32_t max_num_seqs = 8;
  std::int32_t max_num_batched_tokens = 64;
  PolicySet policies = safe_policies();
};

EngineConfig engine_config(const SmallEngine& small);

// A request with `tokens` prompt tokens of the text `text`; the first `shared` come from text 0.
AddRequest request_of(std::int32_t tokens, std::int32_t max_tokens, std::uint64_t text,
                      std::int32_t shared = 0);

// An engine with its checker.
class CheckedEngine {
 public:
  explicit CheckedEngine(const SmallEngine& small, CheckScope scope = CheckScope::all);
  explicit CheckedEngine(const EngineConfig& config, CheckScope scope = CheckScope::all);

  // Also keeps state in bytes; findings of both kinds are kept. Call before the first step.
  // `backend` must outlive the run.
  void keep_state_in(StateBackend& backend);

  RequestId add(const AddRequest& request);
  // Steps and checks; `plant` may change a copy of the trace before it is checked.
  const StepTrace& step(const std::function<void(StepTrace&)>& plant = {});
  // Steps until every request has finished, for at most `limit` steps; false: some have not.
  bool finish(std::int32_t limit = 2000);

  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  const std::vector<Finding>& findings() const { return findings_; }  // of severity error
  const std::vector<Finding>& warnings() const { return warnings_; }
  std::int64_t num_steps() const { return num_steps_; }

 private:
  void keep(std::span<const Finding> findings);

  Engine engine_;
  StepChecker checker_;
  CheckScope scope_;
  std::optional<StateMirror> twin_;
  StepTrace planted_;
  std::vector<Finding> findings_;
  std::vector<Finding> warnings_;
  std::int64_t num_steps_ = 0;
};

// A finding on one line, for a failing test.
std::string describe(const Finding& finding);

}  // namespace hybridscope::test
