#include "sessions/job/diff_comparison.h"

#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sessions/job/right_command.h"
#include "sessions/job/run_options.h"
#include "sessions/record/step_record.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/shown_text.h"
#include "storage/session_file.h"
#include "storage/session_reader.h"
#include "storage/session_writer.h"

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
  const auto found = setting_called(text.substr(0, equals));
  if (!found.ok()) return found.error();
  return SideSetting{found.value(), text.substr(equals + 1)};
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

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : shell_word(text)) quoted += std::string(c == '{' || c == '}' ? 2 : 1, c);
  return quoted;
}

Status check_live_settings(const DiffOptions& options) {
  for (const int side : {0, 1}) {
    EngineSettings settings;
    const std::vector<std::string> given = given_settings(options, side);
    if (auto set = set_all(given, settings); !set.ok()) return set.error();
    if (given.empty()) continue;
    const auto scenario = read_scenario_file(options.scenario);
    if (!scenario.ok()) continue;
    settings = scenario.value().settings;
    if (auto set = set_all(given, settings); !set.ok()) return set.error();
    if (Status fit = check_scenario_settings(scenario.value(), settings, options.scenario);
        !fit.ok())
      return fit;
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

namespace {

// A source that says which step is read.
class WatchedSource final : public ForwardedSource {
 public:
  WatchedSource(std::unique_ptr<StepSource> source, std::function<void(std::int64_t)> on_step)
      : ForwardedSource(std::move(source)), on_step_(std::move(on_step)) {}

  Result<const StepStamp*> next() override {
    auto stamp = ForwardedSource::next();
    if (stamp.ok() && stamp.value() != nullptr) on_step_(stamp.value()->step);
    return stamp;
  }

 private:
  std::function<void(std::int64_t)> on_step_;
};

Result<std::optional<SpokenWords>> texts_of(const SessionPlace& place) {
  const auto reader = SessionReader::open(place);
  if (!reader.ok()) return reader.error();
  SessionReader& session = *reader.value();
  return spoken_session(session, make_names(session.info().header.config, [&](RequestId request) {
                          return session.request_name(request);
                        }));
}

Result<DiffSide> open_recorded(const std::string& text) {
  SessionPlace place = parse_session_place(text);
  const auto file = SessionFile::open(place.file, FileAccess::read);
  if (!file.ok()) return file.error();
  const auto info = file.value().find(place.name);
  if (!info.ok()) return info.error();
  place.name = info.value().header.name;
  auto source = open_session_source(place);
  if (!source.ok()) return source.error();
  auto texts = texts_of(place);
  if (!texts.ok()) return texts.error();
  // At level counts there is nothing to explain, only the step's sums.
  const bool explains = source.value()->level() != RecordLevel::counts;
  return DiffSide{.source = std::move(source).value(),
                  .look_further = fmt::format("hybridscope sessions show {} --step {{}}{}",
                                              shell_quoted(text), explains ? " --explain" : ""),
                  .status = info.value().status,
                  .has_language = info.value().header.language.has_value(),
                  .texts = std::move(texts).value()};
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

void note_texts(const DiffSide& a, const DiffSide& b, DiffReport& report) {
  if (a.texts && b.texts) report.texts = differing_texts(*a.texts, *b.texts);
  if (a.has_language != b.has_language) {
    report.notes.push_back(fmt::format("A language model ran in {} only: texts are not compared.",
                                       a.has_language ? "A" : "B"));
  } else if (a.has_language && !report.texts) {
    report.notes.push_back(fmt::format("{} of the language model: texts are not compared.",
                                       a.texts   ? "B keeps no words"
                                       : b.texts ? "A keeps no words"
                                                 : "A and B keep no words"));
  }
}

void note_end(std::string_view side, SessionStatus status, DiffReport& report) {
  if (status == SessionStatus::recording)
    report.notes.push_back(
        fmt::format("{} is being recorded: its steps so far are compared.", side));
  if (status == SessionStatus::interrupted)
    report.notes.push_back(
        fmt::format("{} was interrupted: its recording ends before its run.", side));
}

// The first rule about steps, which would be ignored here; null: none.
const std::string* rule_about_steps(const DiffOptions& options) {
  const auto found = std::ranges::find_if(
      options.ignore, [](const std::string& rule) { return !rule.starts_with("request:"); });
  return found == options.ignore.end() ? nullptr : &*found;
}

// One comparison of two open sides.
class SideComparison {
 public:
  SideComparison(const DiffOptions& options, const TakeDiff& take, DiffSide a, DiffSide b)
      : options_(options), take_(take), a_(std::move(a)), b_(std::move(b)) {
    report_.a = report_side(a_);
    report_.b = report_side(b_);
    report_.settings = compare_configs(a_.source->config(), b_.source->config());
    report_.ignored = options.ignore;
    report_.limit = static_cast<std::size_t>(options.limit);
    report_.all = options.all;
    note_texts(a_, b_, report_);
    note_end("A", a_.status, report_);
    note_end("B", b_.status, report_);
  }

  std::optional<DiffFailure> compare(IgnoreRules rules) {
    const auto reasons = reasons_against_steps(a_.source->config(), b_.source->config());
    for (const std::string& reason : reasons)
      report_.notes.push_back(fmt::format("Steps are not compared: {}.", reason));
    if (!options_.requests && reasons.empty()) return compare_steps(std::move(rules));
    if (const std::string* rule = rule_about_steps(options_))
      return DiffFailure{
          invalid_input(fmt::format("--ignore {}: what each request got in all is compared ({}), "
                                    "of which only request:NAME "
                                    "can be left out",
                                    *rule, options_.requests ? "--requests" : reasons.front())),
          true};
    return compare_requests(rules);
  }

 private:
  std::optional<DiffFailure> compare_requests(const IgnoreRules& rules) {
    const auto totals_a = total_session(*a_.source);
    if (!totals_a.ok()) return DiffFailure{totals_a.error()};
    const auto totals_b = total_session(*b_.source);
    if (!totals_b.ok()) return DiffFailure{totals_b.error()};
    report_.by_request = true;
    report_.totals = compare_totals(totals_a.value(), totals_b.value());
    std::erase_if(report_.totals, [&](const TotalDifference& total) {
      return rules.ignores_request(total.request);
    });
    report_.notes.push_back(
        "Only totals of each request are compared: hit and output tokens, preemptions, steps, "
        "state "
        "copies, findings by rule; single steps, rows, metadata and block ids are not.");
    report_.num_requests = static_cast<std::int64_t>(
        std::max(totals_a.value().requests.size(), totals_b.value().requests.size()));
    if (std::min(report_.a.level, report_.b.level) == RecordLevel::counts)
      report_.notes.push_back("Level counts knows no requests: whole sessions are compared.");
    take_(report_);
    return std::nullopt;
  }

  std::optional<DiffFailure> compare_steps(IgnoreRules rules) {
    note_levels(report_);
    note_digests(a_, b_, report_);
    if (a_.source->config().runner != b_.source->config().runner)
      report_.notes.push_back(
          "The runners differ: copy decisions are compared by what they move, not the terms that "
          "one "
          "runner's rule alone reads. Not compared: slots, which only V2 has, and the worker's "
          "block "
          "tables, whose rows each runner fills in its own way.");
    SessionDiff diff(*a_.source, *b_.source, std::move(rules));
    auto collected = collect_diff(diff, *a_.source, *b_.source,
                                  {.limit = report_.limit, .first_only = options_.first});
    if (!collected.ok()) return DiffFailure{collected.error()};
    report_.collected = std::move(collected).value();
    report_.summary = diff.summary();
    report_.by_request_name = sort_requests(diff);
    take_(report_);  // its words live as long as `diff`
    return std::nullopt;
  }

  const DiffOptions& options_;
  const TakeDiff& take_;
  DiffSide a_;
  DiffSide b_;
  DiffReport report_;
};

DiffFailure usage(std::string message) { return {invalid_input(std::move(message)), true}; }

DiffFailure usage_of_sessions(const DiffOptions& options) {
  const Error error =
      invalid_input("give two sessions FILE.db[:NAME], or --scenario SCENARIO.json");
  if (options.sessions.empty()) return {error, true};
  return {name_right_command("diff", options.sessions.front(), error), true};
}

}  // namespace

std::optional<DiffFailure> compare_sides(const DiffOptions& options, const TakeDiff& take,
                                         const DiffWatch& watch) {
  if (options.scenario.empty() && options.sessions.size() != 2) return usage_of_sessions(options);
  if (!options.engines.empty() && options.engines.size() != 2)
    return usage("--engine is given twice: the profile of A, then that of B");
  auto rules = IgnoreRules::parse(options.ignore);
  if (!rules.ok()) return usage(rules.error().message);
  if (const Status settings = check_live_settings(options); !settings.ok())
    return usage(settings.error().message);
  std::vector<DiffSide> sides;
  for (const int side : {0, 1}) {
    auto opened = open_side(options, side);
    if (!opened.ok())
      return options.scenario.empty()
                 ? DiffFailure{name_right_command(
                       "diff", options.sessions[static_cast<std::size_t>(side)], opened.error())}
                 : DiffFailure{opened.error()};
    sides.push_back(std::move(opened).value());
    if (watch.stopped)
      sides.back().source =
          std::make_unique<InterruptibleSource>(std::move(sides.back().source), watch.stopped);
    if (watch.on_step)
      sides.back().source =
          std::make_unique<WatchedSource>(std::move(sides.back().source), watch.on_step);
  }
  return SideComparison(options, take, std::move(sides[0]), std::move(sides[1]))
      .compare(std::move(rules).value());
}

}  // namespace hybridscope
