#include "cli/shrink_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/run_words.h"
#include "cli/text_table.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string_view end_name(ShrinkEnd end) {
  switch (end) {
    case ShrinkEnd::smallest:
      return "smallest";
    case ShrinkEnd::run_limit:
      return "run_limit";
    case ShrinkEnd::interrupted:
      return "interrupted";
  }
  return "";
}

std::string end_words(const ShrinkReport& report) {
  const std::string attempts = counted(report.num_runs, "attempt");
  switch (report.end) {
    case ShrinkEnd::smallest:
      return fmt::format("{}; nothing more can go", attempts);
    case ShrinkEnd::run_limit:
      return fmt::format("{}, the limit (--runs {}): more might go", attempts, report.max_runs);
    case ShrinkEnd::interrupted:
      return fmt::format("interrupted after {}: more might go", attempts);
  }
  return attempts;
}

std::string reproduce_words(const ShrinkReport& report) {
  return fmt::format("hybridscope {} {}{}", report.input == ShrinkInput::scenario ? "run" : "judge",
                     shell_word(report.file),
                     report.check == CheckScope::all ? " --check all" : "");
}

}  // namespace

std::string format_shrink_report(const ShrinkReport& report) {
  std::string text = printable(report.text, 2000) + "\n";
  for (const ShrinkChange& change : report.changes)
    if (change.before != 0 || change.after != 0)
      text += fmt::format("{:>24}  {} -> {}\n", change.what, grouped_number(change.before),
                          grouped_number(change.after));
  text += end_words(report) + "\n";
  if (report.file == "-") return text;
  const std::string reproduce = reproduce_words(report);
  return text + fmt::format("reproduce: {}\n           {} --explain {}\n", reproduce, reproduce,
                            report.violation_step);
}

Json shrink_report_to_json(const ShrinkReport& report) {
  Json before = Json::object();
  Json after = Json::object();
  for (const ShrinkChange& change : report.changes) {
    before[std::string(change.key)] = change.before;
    after[std::string(change.key)] = change.after;
  }
  Json json = {{"rule", rule_info(report.rule).slug},
               {"step", report.violation_step},
               {"text", report.text},
               {"file", report.file},
               {"end", end_name(report.end)},
               {"attempts", report.num_runs},
               {"before", std::move(before)},
               {"after", std::move(after)},
               {"reproduce", reproduce_words(report)}};
  if (report.input == ShrinkInput::scenario) json["scenario"] = Json::parse(report.content);
  return json;
}

}  // namespace hybridscope
