#include "sessions/job/known_findings_option.h"

#include <fmt/core.h>

#include <utility>

#include "sessions/text/number_words.h"

namespace hybridscope {

Status load_baselines(KnownFindingsOption& option) {
  if (!option.write_baseline.empty()) option.collected = std::make_shared<FindingBaseline>();
  if (option.baseline.empty()) return Ok{};
  auto read = FindingBaseline::read(option.baseline);
  if (!read.ok()) return read.error();
  option.known = std::make_shared<FindingBaseline>(std::move(read).value());
  return Ok{};
}

std::string excused_words(const ExcusedFindings& excused) {
  return fmt::format("{} {} from {}", counted(excused.findings, "finding"),
                     excused.findings == 1 ? "is" : "are", excused.source);
}

}  // namespace hybridscope
