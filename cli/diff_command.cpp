#include "cli/commands.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/process.h"
#include "sessions/job/diff_comparison.h"
#include "sessions/job/diff_report.h"
#include "sessions/job/step_files.h"
#include "sessions/job/version.h"
#include "sessions/report/html_report.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSame = "same";
constexpr std::string_view kOnlyA = "only in A";
constexpr std::string_view kOnlyB = "only in B";
constexpr std::string_view kNotCompared = "not compared";

// Sessions with one name.
struct SessionPair {
  std::string name{};
  std::string result{};                      // "same", "decisions differ", ...
  std::optional<std::int64_t> first_step{};  // that differs
  std::string words{};                       // what follows the result in a sentence
  std::vector<std::string> notes{};          // what was not compared
  std::string command{};                     // compares this pair alone
  Json json = nullptr;                       // diff_to_json, where it differs
};

Result<std::vector<std::string>> names_in(const std::string& file) {
  const auto opened = SessionFile::open(file, FileAccess::read);
  if (!opened.ok()) return opened.error();
  const auto sessions = opened.value().sessions();
  if (!sessions.ok()) return sessions.error();
  std::vector<std::string> names;
  for (const SessionInfo& info : sessions.value()) names.push_back(info.header.name);
  return names;
}

// What differs step by step: decisions, or else only places (DiffSummary::same_decisions).
std::vector<std::string_view> what_differs(const DiffSummary& summary) {
  DiffSummary decided = summary;
  decided.fields_by_section[static_cast<std::size_t>(DiffSection::findings)] = 0;
  std::vector<std::string_view> what;
  if (!decided.same_decisions()) {
    what.push_back("decisions");
  } else {
    if (summary.differs(DiffSection::blocks)) what.push_back("block ids");
    if (summary.differs(DiffSection::layout)) what.push_back("rows");
  }
  if (summary.differs(DiffSection::findings)) what.push_back("findings");
  return what;
}

std::string result_of(const DiffReport& report) {
  if (!report.differs()) return std::string(kSame);
  std::vector<std::string_view> what;
  if (!report.by_request)
    what = what_differs(report.summary);
  else if (!report.totals.empty())
    what.push_back("totals");
  if (report.texts && !report.texts->empty()) what.push_back("texts");
  return fmt::format("{} differ", fmt::join(what, " and "));
}

// What the sentence about the pair says after its result.
std::string words_of(const DiffReport& report) {
  std::string words;
  if (!report.collected.steps.empty())
    words += fmt::format(", first in step {}", grouped_number(report.collected.steps.front().step));
  if (!report.totals.empty())
    words += fmt::format(", {} of what requests got in all",
                         counted(std::ssize(report.totals), "difference"));
  if (report.texts && !report.texts->empty())
    words += fmt::format(", {} {} other words", counted(std::ssize(*report.texts), "request"),
                         report.texts->size() == 1 ? "gets" : "get");
  return words;
}

// Compares this pair as the command did all of them.
std::string pair_command(const DiffOptions& pair) {
  std::string words = "hybridscope diff";
  const auto add = [&](std::string_view word) { words += " " + shell_word(word); };
  for (const std::string& session : pair.sessions) add(session);
  for (const std::string& rule : pair.ignore) {
    add("--ignore");
    add(rule);
  }
  if (pair.limit != DiffOptions().limit) words += fmt::format(" --limit {}", pair.limit);
  if (pair.all) add("--all");
  if (pair.requests) add("--requests");
  return words;
}

SessionPair compare_pair(const DiffCommandOptions& options, const std::string& name) {
  DiffOptions pair = options;
  for (std::string& session : pair.sessions) session += ":" + name;
  SessionPair found{.name = name, .command = pair_command(pair)};
  const auto failure = compare_sides(pair,
                                     [&](const DiffReport& report) {
                                       found.result = result_of(report);
                                       found.notes = report.notes;
                                       found.words = words_of(report);
                                       if (!report.collected.steps.empty())
                                         found.first_step = report.collected.steps.front().step;
                                       if (options.json && report.differs())
                                         found.json = diff_to_json(report);
                                     },
                                     {.stopped = was_interrupted});
  if (failure) {
    found.result = kNotCompared;
    found.words = failure->error.message;
  }
  return found;
}

// In the order of A, then what only B has.
std::vector<SessionPair> compare_all(const DiffCommandOptions& options,
                                     const std::vector<std::string>& in_a,
                                     const std::vector<std::string>& in_b) {
  std::vector<SessionPair> pairs;
  for (const std::string& name : in_a) {
    if (was_interrupted()) return pairs;
    if (std::ranges::count(in_b, name) > 0)
      pairs.push_back(compare_pair(options, name));
    else
      pairs.push_back({.name = name, .result = std::string(kOnlyA)});
  }
  for (const std::string& name : in_b)
    if (std::ranges::count(in_a, name) == 0)
      pairs.push_back({.name = name, .result = std::string(kOnlyB)});
  return pairs;
}

// [result] number of pairs, in the order in which results first occur, same first.
std::vector<std::pair<std::string, std::int64_t>> count_results(
    const std::vector<SessionPair>& pairs) {
  std::vector<std::pair<std::string, std::int64_t>> counts = {{std::string(kSame), 0}};
  for (const SessionPair& pair : pairs) {
    auto count =
        std::ranges::find(counts, pair.result, &std::pair<std::string, std::int64_t>::first);
    if (count == counts.end()) count = counts.insert(counts.end(), {pair.result, 0});
    ++count->second;
  }
  return counts;
}

std::string format_pairs(const DiffCommandOptions& options, const std::vector<SessionPair>& pairs) {
  std::string text = fmt::format("A  {}\nB  {}\n\n", printable(options.sessions[0]),
                                 printable(options.sessions[1]));
  std::map<std::string, std::int64_t> notes;
  for (const SessionPair& pair : pairs) {
    for (const std::string& note : pair.notes) ++notes[note];
    if (pair.result == kSame || pair.command.empty()) continue;
    text += fmt::format("{}: {}{}{}\n", printable(pair.name), pair.result,
                        pair.result == kNotCompared ? ": " : "", printable(pair.words, 1000));
    text += fmt::format("  {}\n", printable(pair.command, 4000));
  }
  if (!text.ends_with("\n\n")) text += "\n";
  for (const auto& [note, count] : notes)
    text += fmt::format("{}: {}\n", counted(count, "pair"), printable(note, 1000));
  if (!notes.empty()) text += "\n";
  TextTable table({"<session", "<result", "first step"});
  for (const SessionPair& pair : pairs)
    table.add({printable(pair.name), pair.result,
               pair.first_step ? grouped_number(*pair.first_step) : ""});
  text += table.format() + "\n" + counted(std::ssize(pairs), "session") + ":";
  for (const auto& [result, count] : count_results(pairs))
    text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", grouped_number(count), result);
  return text + "\n";
}

Json pairs_to_json(const DiffCommandOptions& options, const std::vector<SessionPair>& pairs) {
  Json sessions = Json::array();
  for (const SessionPair& pair : pairs) {
    Json one = {{"session", pair.name}, {"result", pair.result}};
    one["first_step"] = pair.first_step ? Json(*pair.first_step) : Json();
    if (pair.result == kNotCompared) one["reason"] = pair.words;
    one["notes"] = pair.notes;
    if (!pair.json.is_null()) one["difference"] = pair.json;
    sessions.push_back(std::move(one));
  }
  Json results = Json::object();
  for (const auto& [result, count] : count_results(pairs)) results[result] = count;
  return {{"a", options.sessions[0]},
          {"b", options.sessions[1]},
          {"sessions", std::move(sessions)},
          {"results", std::move(results)}};
}

// Are two whole files compared? Not where a name is given, or where each has one session, which are
// then compared whatever their names are. Errors: those of SessionFile::open.
Result<bool> compares_files(const DiffOptions& options) {
  if (options.sessions.size() != 2) return false;
  std::size_t most = 0;
  for (const std::string& session : options.sessions) {
    const SessionPlace place = parse_session_place(session);
    if (!place.name.empty()) return false;
    const auto names = names_in(place.file);
    if (!names.ok()) return names.error();
    most = std::max(most, names.value().size());
  }
  return most > 1;
}

// Prints what differs in each pair and a table of all pairs. Returns the exit code: 1 where a pair
// differs or a session is in one file only.
int diff_files_command(const DiffCommandOptions& options) {
  if (!options.html.empty() || options.first)
    return report_usage(
        "diff", fmt::format("{} is for two sessions: name them, as in {}:NAME",
                            options.html.empty() ? "--first" : "--html", options.sessions[0]));
  std::vector<std::vector<std::string>> names;
  for (const std::string& file : options.sessions) {
    auto in_file = names_in(file);
    if (!in_file.ok()) return report_error("diff", in_file.error());
    names.push_back(std::move(in_file).value());
  }
  const std::vector<SessionPair> pairs = compare_all(options, names[0], names[1]);
  if (was_interrupted()) return kExitInterrupted;
  if (options.json)
    print_json(pairs_to_json(options, pairs));
  else
    fmt::print("{}", format_pairs(options, pairs));
  if (std::ranges::count(pairs, kNotCompared, &SessionPair::result) > 0) return kExitInput;
  const auto same = std::ranges::count(pairs, kSame, &SessionPair::result);
  return same == std::ssize(pairs) ? kExitFine : kExitFindings;
}

// CLI11 writes "[sessions(0x)]".
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option*) const override { return "[A B]"; }
};

constexpr const char* kDiffExamples =
    "Examples:\n"
    "  hybridscope diff runs.db:before runs.db:after\n"
    "  hybridscope diff monday.db tuesday.db\n"
    "  hybridscope diff main.db:run branch.db:run --ignore blocks --ignore metadata --json\n"
    "  hybridscope diff --scenario scenarios/prompt_as_long_as_a_verify_window.json \\\n"
    "      --engine safe --engine reference\n"
    "  hybridscope diff --scenario scenarios/v2_slots.json --b runner=v1 --ignore layout\n"
    "  hybridscope diff --scenario scenarios/shared_prefix_align.json --b mode=none\n"
    "  hybridscope diff runs.db:before runs.db:after --html difference.html\n"
    "\n"
    "Steps are matched by number, requests by name. Never compared: request ids, simulated and\n"
    "wall time, hosts, file names. Rules for --ignore: a section (commands, schedule, blocks,\n"
    "rows, layout, graph, copies, metadata, commits, findings, state, counts), a list (lookups,\n"
    "block_events, ...), a field (rows.num_draft_count), request:NAME, step:5, step:1-10.\n"
    "Exit codes: 0 no difference, 1 differences, 2 usage, 3 invalid input, 4 environment.";

Status check_diff_page(const DiffCommandOptions& options) {
  CommandFiles files{.inputs = {{"the scenario", options.scenario}},
                     .outputs = {document("--json", options.json), {"--html", options.html}}};
  for (const std::string& session : options.sessions)
    files.inputs.push_back(session_input(session));
  return check_files(files);
}

Status write_diff_page(const DiffReport& report, OutputFile& page) {
  auto json = diff_to_json(report);
  json["program"] = fmt::format("hybridscope {}", kVersion);
  return page.finish(fill_diff_page(script_safe_json(json)));
}

}  // namespace

void add_diff_options(CLI::App& command, DiffCommandOptions& options) {
  command.footer(kDiffExamples);
  command.formatter(std::make_shared<UsageFormatter>());
  auto* sessions =
      command
          .add_option("sessions", options.sessions,
                      "two recorded sessions (run --record), or two files, whose sessions are "
                      "paired by name")
          ->type_name("FILE.db[:NAME]")
          ->expected(0, 2);
  auto* scenario = command.add_option("--scenario", options.scenario,
                                      "run this scenario twice and compare the runs");
  scenario->type_name("SCENARIO.json")->excludes(sessions);
  command.add_option("--engine", options.engines, "profile of A, then of B (safe, vllm@DATE, ...)")
      ->transform([](std::string name) { return canonical_profile_name(std::move(name)); })
      ->type_name("PROFILE")
      ->allow_extra_args(false)
      ->needs(scenario);
  for (const bool is_a : {true, false})
    command
        .add_option(is_a ? "--a" : "--b", is_a ? options.settings_a : options.settings_b,
                    std::string("a setting of ") + (is_a ? "A" : "B") +
                        " alone: runner=v1, mode=none, policies/aligned_split=...")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->needs(scenario);
  command.add_option("--ignore", options.ignore, "leave something out (repeatable; rules below)")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--level",
          [&options](const std::string& level) { options.level = *record_level_of(level); },
          "with --scenario, how much of the runs is compared: counts, blocks, full (default)")
      ->check(CLI::IsMember({"counts", "blocks", "full"}))
      ->needs(scenario)
      ->type_name("LEVEL");
  command.add_option("--limit", options.limit, "show at most N steps, or requests (default 100)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}, "1 to 1000000"))
      ->type_name("N");
  command.add_flag("--all", options.all,
                   "show the fields of all listed steps, not only of the first");
  command.add_flag("--first", options.first, "stop at the first divergence");
  command.add_flag("--requests", options.requests,
                   "compare what each request got in total, not step by step");
  command.add_flag("--json", options.json,
                   "one object {a, b, comparable, first_divergence, summary, differences}");
  command
      .add_option("--html", options.html,
                  "the comparison as one page that opens offline, - for standard output")
      ->type_name("FILE|-");
}

int diff_command(const DiffCommandOptions& options) {
  if (const Status apart = check_diff_page(options); !apart.ok())
    return report_usage("diff", apart.error().message);
  ask_for_interrupts();
  // What cannot be opened is reported by the comparison.
  if (const auto files = compares_files(options); files.ok() && files.value())
    return diff_files_command(options);
  auto page = open_output(options.html);
  if (!page.ok()) return report_error("diff", page.error());
  int code = kExitFine;
  const auto failure = compare_sides(
      options,
      [&](const DiffReport& report) {
        if (page.value())
          if (const Status written = write_diff_page(report, *page.value()); !written.ok()) {
            code = report_error("diff", written.error());
            return;
          }
        if (options.json)
          print_json(diff_to_json(report));
        else
          fmt::print(text_stream({{"--html", options.html}}), "{}", format_diff(report));
        code = report.differs() ? kExitFindings : kExitFine;
      },
      {.stopped = was_interrupted});
  if (!failure) return code;
  if (failure->by_usage) return report_usage("diff", failure->error.message);
  const int by_kind = report_error("diff", failure->error);
  return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
}

}  // namespace hybridscope
