#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/run_report.h"

namespace hybridscope {
namespace {

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

std::string failure(std::string_view type, const std::vector<std::string>& texts) {
  std::string body =
      fmt::format(">\n      <failure type=\"{}\" message=\"{}\">", xml(type), xml(texts.front()));
  for (const std::string& text : texts) body += xml(text) + "\n";
  return body + "</failure>\n    </testcase>\n";
}

std::vector<std::string> unexpected_texts(const RunReport& report, Rule rule) {
  std::vector<std::string> texts;
  for (const KeptFinding& kept : report.findings.kept())
    if (kept.finding.rule == rule && !kept.expected) texts.push_back(kept.text);
  const std::int64_t total = report.findings.count(rule).unexpected;
  const auto kept = static_cast<std::int64_t>(texts.size());
  if (total > kept) texts.push_back(fmt::format("and {} more", total - kept));
  return texts;
}

std::string junit_text(const RunPlan& plan, const RunReport& report, bool strict) {
  std::string cases;
  std::size_t failures = 0;
  const auto testcase = [&](std::string_view name) {
    return fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(plan.name), xml(name));
  };
  for (const RuleInfo& rule : rule_table()) {
    const RuleCount& count = report.findings.count(rule.rule);
    const bool fails = count.unexpected > 0 && (rule.severity == Severity::error || strict);
    failures += fails ? 1 : 0;
    cases += testcase(rule.slug) +
             (fails ? failure(rule.slug, unexpected_texts(report, rule.rule)) : "/>\n");
  }
  if (!report.unmet.empty()) {
    ++failures;
    cases += testcase("expect") + failure("expect", report.unmet);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
      "tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(plan.name), rule_table().size() + (report.unmet.empty() ? 0 : 1), failures, cases);
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) return Error{ErrorKind::io, fmt::format("cannot write {}", path)};
  return Ok{};
}

}  // namespace

Status write_junit(const std::string& path, const RunPlan& plan, const RunReport& report,
                   bool strict) {
  const std::string text = junit_text(plan, report, strict);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory)
    return Error{ErrorKind::io, fmt::format("cannot write {}: it is a directory", path)};
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    return write_text(path, text);
  const std::string temporary = path + ".part";
  if (Status written = write_text(temporary, text); !written.ok()) return written;
  std::filesystem::rename(temporary, path, error);
  if (!error) return Ok{};
  std::remove(temporary.c_str());
  return Error{ErrorKind::io,
               fmt::format("cannot rename {} to {}: {}", temporary, path, error.message())};
}

}  // namespace hybridscope
