// A small engine whose steps are checked and explained, for tests.
#pragma once

#include <string>
#include <vector>

#include "core/check/step_checker.h"
#include "core/engine/engine.h"
#include "sessions/explain/explain_names.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

class ExplainedRun {
 public:
  explicit ExplainedRun(const EngineConfig& config);

  RequestId add(const std::string& name, std::int32_t prompt, std::int32_t max_tokens,
                std::int32_t shared = 0);
  // Runs steps up to this one and explains it.
  std::string step(std::int64_t number = 0);

  Engine& engine() { return engine_; }
  const StepTrace& trace() const { return *trace_; }
  const Names& names() const { return names_; }
  const std::vector<Finding>& findings() const { return findings_; }  // of all steps so far

 private:
  Engine engine_;
  StepChecker checker_;
  BlockTableMirror tables_;
  Names names_;
  const StepTrace* trace_ = nullptr;
  std::vector<Finding> findings_;
};

}  // namespace hybridscope::test
