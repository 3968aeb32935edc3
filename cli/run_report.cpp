#include "cli/run_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sessions/settings_table.h"

namespace hybridscope {
namespace {

// 12031 -> "12,031".
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > 0; place -= 3)
    text.insert(static_cast<std::size_t>(place), ",");
  return text;
}

nlohmann::ordered_json config_to_json(const RunPlan& plan) {
  const EngineConfig& config = plan.setup.config;
  const ModelLayout& layout = plan.setup.layout;
  return {{"name", plan.name},
          {"model", layout.model.name},
          {"mamba_cache_mode", mamba_cache_mode_name(config.mamba_cache_mode)},
          {"enable_prefix_caching", config.enable_prefix_caching},
          {"num_speculative_tokens", config.num_speculative_tokens},
          {"acceptance_rate", config.acceptance_rate},
          {"block_size", config.block_size},
          {"num_blocks", config.kv_cache_config.num_blocks},
          {"num_groups", config.kv_cache_config.groups.size()},
          {"max_model_len", config.max_model_len},
          {"max_num_seqs", config.max_num_seqs},
          {"max_num_batched_tokens", config.max_num_batched_tokens},
          {"long_prefill_token_threshold", config.long_prefill_token_threshold},
          {"seed", config.seed},
          {"profile", config.policies == safe_policies()    ? "safe"
                      : config.policies == pages_policies() ? "pages"
                                                            : "mixed"}};
}

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return escaped;
}

}  // namespace

std::string format_summary(const RunPlan& plan, const RunReport& report) {
  const RunSummary& s = report.summary;
  std::string text = fmt::format(
      "{} steps, {} request-steps; {} of {} requests finished, {} preemptions\n"
      "{} prompt tokens, {} of them from the prefix cache; {} output tokens\n"
      "{} state copies, {} bytes; {} padding tokens in graphs\n",
      grouped(s.steps), grouped(s.request_steps), grouped(s.requests_finished),
      grouped(static_cast<std::int64_t>(plan.requests.size())), grouped(s.preemptions),
      grouped(s.prompt_tokens), grouped(s.prefix_hit_tokens), grouped(s.output_tokens),
      grouped(s.state_copies), grouped(s.state_copy_bytes), grouped(s.graph_padded_tokens));
  if (report.wall_seconds)
    text += fmt::format("{:.2f} s wall, {:.0f} MiB peak memory\n", *report.wall_seconds,
                        static_cast<double>(report.peak_rss_bytes.value_or(0)) / 1048576.0);
  for (const std::string& unmet : report.unmet) text += "expectation not met: " + unmet + "\n";
  if (report.num_findings == 0)
    text += "no findings: every block held what it should after every step";
  else
    text += fmt::format("{} findings{}", grouped(report.num_findings),
                        report.expected_findings ? ", as expected" : "");
  if (report.num_warnings > 0) text += fmt::format(", {} warnings", grouped(report.num_warnings));
  return text + "\n";
}

nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report) {
  const RunSummary& s = report.summary;
  nlohmann::ordered_json summary = {{"steps", s.steps},
                                    {"request_steps", s.request_steps},
                                    {"requests_finished", s.requests_finished},
                                    {"prompt_tokens", s.prompt_tokens},
                                    {"prefix_hit_tokens", s.prefix_hit_tokens},
                                    {"output_tokens", s.output_tokens},
                                    {"preemptions", s.preemptions},
                                    {"state_copies", s.state_copies},
                                    {"state_copy_bytes", s.state_copy_bytes},
                                    {"graph_padded_tokens", s.graph_padded_tokens},
                                    {"findings", report.num_findings},
                                    {"warnings", report.num_warnings}};
  if (report.wall_seconds) summary["wall_seconds"] = *report.wall_seconds;
  if (report.peak_rss_bytes) summary["peak_rss_bytes"] = *report.peak_rss_bytes;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const auto& object : report.finding_objects) findings.push_back(object);
  nlohmann::ordered_json json = {
      {"config", config_to_json(plan)}, {"summary", summary}, {"findings", findings}};
  if (!report.unmet.empty()) json["unmet_expectations"] = report.unmet;
  if (!plan.notes.empty()) json["notes"] = plan.notes;
  return json;
}

Status write_junit(const std::string& path, const RunPlan& plan, const RunReport& report,
                   bool strict) {
  std::map<Rule, std::vector<std::size_t>> by_rule;
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    by_rule[report.findings[i].rule].push_back(i);
  std::string cases;
  int failures = 0;
  for (const RuleInfo& rule : rule_table()) {
    cases +=
        fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(plan.name), xml(rule.slug));
    const auto found = by_rule.find(rule.rule);
    const bool counts = rule.severity == Severity::error || strict;
    if (found == by_rule.end() || !counts || report.expected_findings) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    cases += fmt::format(">\n      <failure type=\"{}\" message=\"{}\">", xml(rule.slug),
                         xml(report.finding_texts[found->second.front()]));
    for (const std::size_t i : found->second) cases += xml(report.finding_texts[i]) + "\n";
    cases += "</failure>\n    </testcase>\n";
  }
  for (const std::string& unmet : report.unmet) {
    ++failures;
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"expect\">\n      <failure type=\"expect\" "
        "message=\"{}\"/>\n    </testcase>\n",
        xml(plan.name), xml(unmet));
  }
  const std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
      "tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(plan.name), rule_table().size() + report.unmet.size(), failures, cases);
  // Written beside the target and renamed: a reader never sees half a report.
  const std::string temporary = path + ".part";
  {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    if (!out.flush()) return Error{ErrorKind::io, fmt::format("cannot write {}", temporary)};
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return Error{ErrorKind::io, fmt::format("cannot rename {} to {}", temporary, path)};
  return Ok{};
}

}  // namespace hybridscope
