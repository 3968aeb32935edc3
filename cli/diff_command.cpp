#include "cli/diff_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/diff_report.h"
#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "cli/settings_options.h"
#include "sessions/record/live_source.h"
#include "sessions/record/session_header.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_table.h"
#include "storage/session_reader.h"

namespace hybridscope {

namespace {

struct SideSetting {
  const Setting* setting = nullptr;
  std::string value;
};

// "runner=v1", "mode=none", "policies/row_order=query_len"; also "row_order=...".
Result<SideSetting> parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid_input(fmt::format("\"{}\" is not KEY=VALUE (runner=v1)", text));
  std::string key = text.substr(0, equals);
  std::ranges::replace(key, '-', '_');
  const Setting* found = find_setting_called(key);
  if (found == nullptr) {
    std::vector<std::string> known;
    for (const Setting& setting : settings_table()) known.push_back(setting_path(setting));
    return invalid_input(fmt::format("there is no setting \"{}\" (known: {})",
                                     text.substr(0, equals), fmt::join(known, ", ")));
  }
  return SideSetting{found, text.substr(equals + 1)};
}

std::vector<std::string> given_settings(const DiffOptions& options, int side) {
  std::vector<std::string> given = side == 0 ? options.settings_a : options.settings_b;
  if (!options.engines.empty())
    given.insert(given.begin(), "engine=" + options.engines[static_cast<std::size_t>(side)]);
  return given;
}

Result<std::vector<SideSetting>> set_all(const std::vector<std::string>& given,
                                         EngineSettings& settings) {
  std::vector<SideSetting> all;
  for (const std::string& text : given) {
    auto setting = parse_setting(text);
    if (!setting.ok()) return setting.error();
    all.push_back(std::move(setting).value());
    if (Status set = set_setting_text(settings, *all.back().setting, all.back().value); !set.ok())
      return set.error();
  }
  return all;
}

std::string run_command_of(const DiffOptions& options, const std::vector<SideSetting>& settings) {
  std::string text = "hybridscope run " + shell_quoted(options.scenario);
  for (const SideSetting& one : settings) {
    const std::string option = main_option_of(*one.setting);
    if (one.setting->kind == SettingKind::boolean)
      text += one.value == "true" || one.value == "1" ? " " + option : " --no-" + option.substr(2);
    else
      text += fmt::format(" {} {}", option, shell_quoted(one.value));
  }
  return text + " --explain {}";
}

Result<DiffSide> open_recorded(const std::string& place) {
  auto source = open_session_source(parse_session_place(place));
  if (!source.ok()) return source.error();
  // At level counts there is nothing to explain, only the step's sums.
  const bool explains = source.value()->level() != RecordLevel::counts;
  return DiffSide{.source = std::move(source).value(),
                  .look_further = fmt::format("hybridscope sessions show {} --step {{}}{}",
                                              shell_quoted(place), explains ? " --explain" : "")};
}

Result<DiffSide> open_side(const DiffOptions& options, int side) {
  return options.scenario.empty() ? open_recorded(options.sessions[static_cast<std::size_t>(side)])
                                  : open_live(options, side);
}

DiffReportSide report_side(const DiffSide& side) {
  return {.title = side.source->title(),
          .level = side.source->level(),
          .look_further = side.look_further};
}

std::vector<std::pair<std::string, std::int64_t>> sort_requests(const SessionDiff& diff) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  const auto& by_request = diff.summary().by_request;
  for (std::size_t r = 0; r < by_request.size(); ++r)
    if (by_request[r] > 0)
      counts.emplace_back(diff.names().name(static_cast<std::int32_t>(r)), by_request[r]);
  std::ranges::sort(counts, [](const auto& x, const auto& y) {
    return x.second != y.second ? x.second > y.second : x.first < y.first;
  });
  return counts;
}

void note_levels(DiffReport& report) {
  const RecordLevel level = std::min(report.a.level, report.b.level);
  if (level == RecordLevel::counts)
    report.notes.push_back(
        "Level counts keeps sums and digests of a step: of what differs in its requests, only the "
        "section is known.");
  else if (report.a.level != report.b.level)
    report.notes.push_back(fmt::format("What level {} keeps is compared, as {} has no more.",
                                       record_level_name(level),
                                       report.a.level == level ? "A" : "B"));
}

void note_digests(const DiffSide& a, const DiffSide& b, DiffReport& report) {
  const std::int32_t of_a = a.source->digest_version();
  const std::int32_t of_b = b.source->digest_version();
  if (of_a != of_b)
    report.notes.push_back(fmt::format(
        "The digests of A are of version {}, those of B of version {}: what both keep of a step is "
        "compared, not what only its digests say.",
        of_a, of_b));
}

// Words in the report live as long as `diff`, so the owner of `diff` prints it.
int print_and_exit(const DiffOptions& options, const DiffReport& report) {
  if (options.json)
    fmt::print("{}\n",
               diff_to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}", format_diff(report));
  return report.differs() ? kExitFindings : kExitFine;
}

// The first rule about steps, which would be ignored here; null: none.
const std::string* rule_about_steps(const DiffOptions& options) {
  const auto found = std::ranges::find_if(
      options.ignore, [](const std::string& rule) { return !rule.starts_with("request:"); });
  return found == options.ignore.end() ? nullptr : &*found;
}

int compare_requests(const DiffOptions& options, DiffSide& a, DiffSide& b, const IgnoreRules& rules,
                     DiffReport& report) {
  const auto totals_a = total_session(*a.source);
  if (!totals_a.ok()) return report_error("diff", totals_a.error());
  const auto totals_b = total_session(*b.source);
  if (!totals_b.ok()) return report_error("diff", totals_b.error());
  report.by_request = true;
  report.totals = compare_totals(totals_a.value(), totals_b.value());
  std::erase_if(report.totals,
                [&](const TotalDifference& total) { return rules.ignores_request(total.request); });
  report.notes.push_back(
      "Only totals of each request are compared: hit and output tokens, preemptions, steps, state "
      "copies, findings by rule; single steps, rows, metadata and block ids are not.");
  report.num_requests = static_cast<std::int64_t>(
      std::max(totals_a.value().requests.size(), totals_b.value().requests.size()));
  if (std::min(report.a.level, report.b.level) == RecordLevel::counts)
    report.notes.push_back("Level counts knows no requests: whole sessions are compared.");
  return print_and_exit(options, report);
}

int compare_steps(const DiffOptions& options, DiffSide& a, DiffSide& b, IgnoreRules rules,
                  DiffReport& report) {
  note_levels(report);
  note_digests(a, b, report);
  if (a.source->config().runner != b.source->config().runner)
    report.notes.push_back(
        "The runners differ: copy decisions are compared by what they move, not the terms that one "
        "runner's rule alone reads. Not compared: slots, which only V2 has, and the worker's block "
        "tables, whose rows each runner fills in its own way.");
  SessionDiff diff(*a.source, *b.source, std::move(rules));
  auto collected = collect_diff(diff, *a.source, *b.source,
                                {.limit = report.limit, .first_only = options.first});
  if (!collected.ok()) return report_error("diff", collected.error());
  report.collected = std::move(collected).value();
  report.summary = diff.summary();
  report.by_request_name = sort_requests(diff);
  return print_and_exit(options, report);
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,-+@";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == text.npos;
  std::string quoted = plain ? std::string() : std::string("'");
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  }
  return plain ? quoted : quoted + "'";
}

Status check_live_settings(const DiffOptions& options) {
  for (const int side : {0, 1}) {
    EngineSettings settings;
    if (auto set = set_all(given_settings(options, side), settings); !set.ok()) return set.error();
  }
  return Ok{};
}

Result<DiffSide> open_live(const DiffOptions& options, int side) {
  auto scenario = read_scenario_file(options.scenario);
  if (!scenario.ok()) return scenario.error();
  const std::vector<std::string> given = given_settings(options, side);
  auto settings = set_all(given, scenario.value().settings);
  if (!settings.ok()) return settings.error();
  auto plan = plan_scenario(scenario.value(), options.scenario);
  if (!plan.ok()) return plan.error();
  std::string title = options.scenario;
  for (const std::string& text : given) title += " " + text;
  auto source = LiveSource::create(std::move(plan).value(), options.level, std::move(title));
  if (!source.ok()) return source.error();
  return DiffSide{.source = std::move(source).value(),
                  .look_further = run_command_of(options, settings.value())};
}

int diff_command(const DiffOptions& options) {
  if (options.scenario.empty() && options.sessions.size() != 2)
    return report_usage(
        "diff", "give two sessions FILE.db[:NAME], or --scenario (hybridscope diff --help)");
  if (!options.engines.empty() && options.engines.size() != 2)
    return report_usage("diff", "--engine is given twice: the profile of A, then that of B");
  auto rules = IgnoreRules::parse(options.ignore);
  if (!rules.ok()) return report_usage("diff", rules.error().message);
  if (const Status settings = check_live_settings(options); !settings.ok())
    return report_usage("diff", settings.error().message);
  auto a = open_side(options, 0);
  if (!a.ok()) return report_error("diff", a.error());
  auto b = open_side(options, 1);
  if (!b.ok()) return report_error("diff", b.error());
  DiffReport report;
  report.a = report_side(a.value());
  report.b = report_side(b.value());
  report.settings = compare_configs(a.value().source->config(), b.value().source->config());
  report.ignored = options.ignore;
  report.limit = static_cast<std::size_t>(options.limit);
  report.all = options.all;
  const auto reasons =
      reasons_against_steps(a.value().source->config(), b.value().source->config());
  for (const std::string& reason : reasons)
    report.notes.push_back(fmt::format("Steps are not compared: {}.", reason));
  if (options.requests || !reasons.empty()) {
    if (const std::string* rule = rule_about_steps(options))
      return report_usage("diff",
                          fmt::format("--ignore {}: what each request got in all is compared ({}), "
                                      "of which only request:NAME "
                                      "can be left out",
                                      *rule, options.requests ? "--requests" : reasons.front()));
    return compare_requests(options, a.value(), b.value(), rules.value(), report);
  }
  return compare_steps(options, a.value(), b.value(), std::move(rules).value(), report);
}

}  // namespace hybridscope
