#include <fmt/format.h>

#include "cli/junit_file.h"
#include "cli/run_report.h"

namespace hybridscope {
namespace {

std::vector<std::string> unexpected_texts(const RunReport& report, Rule rule) {
  std::vector<std::string> texts;
  for (const KeptFinding& kept : report.findings.kept())
    if (kept.finding.rule == rule && !kept.expected) texts.push_back(kept.text);
  const std::int64_t total = report.findings.count(rule).unexpected;
  const auto kept = static_cast<std::int64_t>(texts.size());
  if (total > kept) texts.push_back(fmt::format("and {} more", total - kept));
  return texts;
}

}  // namespace

Status write_junit(const std::string& path, const RunPlan& plan, const RunReport& report,
                   bool strict) {
  std::vector<JunitCase> cases;
  for (const RuleInfo& rule : rule_table()) {
    JunitCase test{.name = std::string(rule.slug), .type = std::string(rule.slug)};
    const RuleCount& count = report.findings.count(rule.rule);
    if (count.unexpected > 0 && (rule.severity == Severity::error || strict))
      test.failures = unexpected_texts(report, rule.rule);
    cases.push_back(std::move(test));
  }
  if (!report.unmet.empty())
    cases.push_back({.name = "expect", .type = "expect", .failures = report.unmet});
  return write_junit_file(path, plan.name, cases);
}

}  // namespace hybridscope
