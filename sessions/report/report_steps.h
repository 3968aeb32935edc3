// Steps as the lines of numbers and sentences that a report's page reads (report_data.js names
// their fields).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/engine/engine_config.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/step_record.h"
#include "sessions/report/report_texts.h"

namespace hybridscope {

class ReportSteps {
 public:
  // Both must outlive it.
  ReportSteps(const EngineConfig& config, const Names& names) : config_(config), names_(names) {}

  // An object; members that would be empty are left out.
  nlohmann::json step(const StepRecord& record);

  ReportTexts& texts() { return texts_; }
  const ReportTexts& texts() const { return texts_; }

 private:
  nlohmann::json commands(const StepTrace& trace);
  nlohmann::json lookups(const StepTrace& trace);
  nlohmann::json skipped(const StepTrace& trace);
  void add_decisions(std::int32_t launch_number, const CopyLaunch& launch,
                     nlohmann::json& decisions);
  nlohmann::json findings(const StepRecord& record);

  const EngineConfig& config_;
  const Names& names_;
  ReportTexts texts_;
};

}  // namespace hybridscope
