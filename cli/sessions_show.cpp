#include "cli/sessions_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "cli/step_table.h"
#include "core/model/model_layout.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/job/right_command.h"
#include "sessions/job/session_json.h"
#include "sessions/run/finding_list.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"
#include "storage/session_player.h"
#include "storage/session_writer.h"

namespace hybridscope {
namespace {

struct ShowOptions {
  std::string place;
  std::int64_t step = 0;  // to explain, or the first of the table; 0: from the start
  std::int64_t num_steps = 40;
  bool explain = false;
  bool json = false;
};

class SessionView {
 public:
  SessionView(const ShowOptions& options, SessionPlayer& player)
      : options_(options),
        player_(player),
        config_(player.reader().info().header.config),
        names_(session_names(player)) {}

  Status show_step();
  Status show_session();

 private:
  void print_heading() const;
  void print_bookmarks(const std::vector<Bookmark>& bookmarks) const;
  Status print_steps();
  Status print_findings();
  Status print_texts();
  StepRow describe(const StepRecord& record) const;
  FreeBlocks free_blocks() const {
    return knows_free_blocks(player_) ? FreeBlocks::known : FreeBlocks::unknown;
  }

  const ShowOptions& options_;
  SessionPlayer& player_;
  const EngineConfig& config_;
  Names names_;
};

void SessionView::print_heading() const {
  const SessionInfo& info = player_.reader().info();
  const SessionHeader& header = info.header;
  fmt::print("{}: {}, mode {}, block_size {}, K={}, {} blocks in {} groups, engine {}\n",
             printable(header.name), printable(header.model),
             mamba_cache_mode_name(config_.mamba_cache_mode), config_.block_size,
             config_.num_speculative_tokens, grouped_number(config_.kv_cache_config.num_blocks),
             config_.kv_cache_config.groups.size(), printable(header.engine));
  fmt::print("{} of {} by {}, level {}, {}{}{}\n", session_kind_name(header.kind),
             printable(header.source), printable(info.program), record_level_name(header.level),
             session_status_name(info.status), info.status_reason.empty() ? "" : ": ",
             printable(info.status_reason));
  if (!header.parent_name.empty())
    fmt::print("forked from {} at step {}\n", printable(header.parent_name), header.forked_at);
  if (!info.note.empty()) fmt::print("note: {}\n", printable(info.note, 2000));
  fmt::print("{} in steps {} to {}, {} request-steps; {}, {}\n\n", counted(info.num_steps, "step"),
             player_.reader().first_step(), player_.reader().last_step(),
             grouped_number(info.num_request_steps), counted(info.num_errors, "error"),
             counted(info.num_warnings, "warning"));
}

void SessionView::print_bookmarks(const std::vector<Bookmark>& bookmarks) const {
  for (const Bookmark& mark : bookmarks)
    fmt::print("bookmark {} at step {}: {}\n", mark.bookmark, mark.step,
               mark.note.empty() ? "(no note)" : printable(mark.note));
  if (!bookmarks.empty()) fmt::print("\n");
}

StepRow SessionView::describe(const StepRecord& record) const {
  const SessionHeader& header = player_.reader().info().header;
  return header.level == RecordLevel::counts
             ? describe_counts(record.trace, record.counts, free_blocks())
             : describe_step(record.trace, names_, record.findings, free_blocks());
}

Status SessionView::print_steps() {
  SessionReader& reader = player_.reader();
  if (options_.step > reader.last_step())
    return Error{
        ErrorKind::not_found,
        fmt::format("{}: there is no step {}, expected one of the steps {} to {}", reader.title(),
                    options_.step, reader.first_step(), reader.last_step())};
  const auto start = reader.step_at_or_before(options_.step);
  if (!start.ok()) return start.error();
  std::int64_t step = options_.step > 0 && start.value() > 0 ? start.value() : reader.first_step();
  std::vector<StepRow> rows;
  while (static_cast<std::int64_t>(rows.size()) < options_.num_steps && step > 0) {
    const auto record = reader.read(step);
    if (!record.ok()) return record.error();
    rows.push_back(describe(*record.value()));
    const auto next = reader.step_after(step);
    if (!next.ok()) return next.error();
    step = next.value();
  }
  fmt::print("{}", format_step_table(rows, reader.info().header.level));
  if (step > 0)
    fmt::print("\n{} of {} shown; go on with --step {}\n", rows.size(),
               counted(reader.info().num_steps, "step"), step);
  return Ok{};
}

// Prints the findings of all steps, not only of those in the table: the root of a finding may lie
// before them.
Status SessionView::print_findings() {
  SessionReader& reader = player_.reader();
  auto found = session_findings(reader, names_);
  if (!found.ok()) return found.error();
  FindingList& findings = found.value();
  if (findings.kept().empty()) return Ok{};
  if (const auto find = session_cause_finder(reader.info())) findings.find_causes(find);
  fmt::print("\n{}{}", findings.format_roots(), findings.format_left_out());
  if (!findings.roots().empty())
    fmt::print("next: {}\n", show_step_words(parse_session_place(options_.place),
                                             findings.roots()[0].finding.step));
  return Ok{};
}

Status SessionView::print_texts() {
  const auto words = spoken_session(player_.reader(), names_);
  if (!words.ok()) return words.error();
  const std::optional<SpeechInfo>& language = player_.reader().info().header.language;
  if (!language) return Ok{};
  fmt::print("\n{}\n{}", speech_words(*language),
             words.value() ? format_spoken(*words.value()) : "none of its words are kept\n");
  return Ok{};
}

Status SessionView::show_session() {
  print_heading();
  const SessionInfo& info = player_.reader().info();
  const auto file = SessionFile::open(parse_session_place(options_.place).file, FileAccess::read);
  if (!file.ok()) return file.error();
  const auto bookmarks = file.value().bookmarks(info.session);
  if (!bookmarks.ok()) return bookmarks.error();
  print_bookmarks(bookmarks.value());
  if (info.num_steps == 0) return Ok{};
  if (Status steps = print_steps(); !steps.ok()) return steps;
  if (Status texts = print_texts(); !texts.ok()) return texts;
  return print_findings();
}

Status SessionView::show_step() {
  if (options_.json) {
    const auto json = recorded_step_to_json(player_, options_.step, names_);
    if (!json.ok()) return json.error();
    print_json(json.value());
    return Ok{};
  }
  const auto text = explain_recorded_step(player_, options_.step, names_);
  if (!text.ok()) return text.error();
  fmt::print("{}", text.value());
  return Ok{};
}

int show(const ShowOptions& options) {
  auto player = SessionPlayer::open(parse_session_place(options.place));
  if (!player.ok())
    return report_error("sessions show",
                        name_right_command("sessions show", options.place, player.error()));
  SessionView view(options, *player.value());
  const Status shown = options.explain || options.json ? view.show_step() : view.show_session();
  return shown.ok() ? kExitFine : report_error("sessions show", shown.error());
}

}  // namespace

Subcommand add_sessions_show(CLI::App& sessions) {
  CLI::App& app =
      *sessions.add_subcommand("show", "what a session is, its steps, one step in words");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions show runs.db\n"
      "  hybridscope sessions show runs.db:before --step 12 --explain\n"
      "  hybridscope sessions show runs.db:before --step 12 --json");
  const auto options = std::make_shared<ShowOptions>();
  app.add_option("session", options->place, "session file and, after a colon, a session's name")
      ->required()
      ->type_name("FILE.db[:NAME]");
  CLI::Option* step = app.add_option("--step", options->step, "begin the table with this step")
                          ->type_name("STEP")
                          ->check(CLI::Range(std::int64_t{1}, INT64_MAX, "a step from 1 on"));
  app.add_option("--limit", options->num_steps, "most steps in the table (default 40)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, INT64_MAX, "a number from 1 on"));
  app.add_flag("--explain", options->explain, "explain the step of --step in full")->needs(step);
  app.add_flag("--json", options->json, "the step of --step as one object")->needs(step);
  return {&app, [=] { return show(*options); }};
}

}  // namespace hybridscope
