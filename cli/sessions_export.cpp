#include "cli/sessions_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>

#include "cli/process.h"
#include "sessions/job/right_command.h"
#include "sessions/job/session_json.h"
#include "sessions/job/step_files.h"
#include "sessions/job/version.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/live/fork.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_digests.h"
#include "sessions/record/step_record.h"
#include "sessions/report/html_report.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/text/output_file.h"
#include "storage/record_jsonl.h"
#include "storage/session_reader.h"

namespace hybridscope {
namespace {

constexpr const char* kExport = "sessions export";

struct ExportOptions {
  std::string place;
  std::string html;
  std::string jsonl;
  std::string trace;
  std::string steps;  // "A-B"
};

struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// "12-80", or "12" for one step.
std::optional<StepRange> parse_range(const std::string& text) {
  StepRange range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc{} || range.first < 1) return std::nullopt;
  range.last = range.first;
  if (first.ptr == end) return range;
  if (*first.ptr != '-') return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.last);
  if (last.ec != std::errc{} || last.ptr != end || range.last < range.first) return std::nullopt;
  return range;
}

Status export_html(const ExportOptions& options, const SessionPlace& place,
                   const SessionInfo& info) {
  const StepRange range = parse_range(options.steps).value_or(StepRange{});
  HtmlReportOptions about{.header = info.header,
                          .program = info.program,
                          .status = std::string(session_status_name(info.status)),
                          .note = info.note,
                          .find_causes = session_cause_finder(info),
                          .first_step = range.first,
                          .last_step = range.last};
  if (!info.status_reason.empty()) about.status += ": " + info.status_reason;
  const auto file = SessionFile::open(place.file, FileAccess::read);
  if (!file.ok()) return file.error();
  const auto bookmarks = file.value().bookmarks(info.session);
  if (!bookmarks.ok()) return bookmarks.error();
  for (const Bookmark& bookmark : bookmarks.value())
    about.bookmarks.emplace_back(bookmark.step, bookmark.note);
  about.explain_command = [&place](std::int64_t step) { return show_step_words(place, step); };
  auto source = open_session_source(place);
  if (!source.ok()) return source.error();
  InterruptibleSource steps(std::move(source).value(), was_interrupted);
  const auto report = write_html_report(steps, about);
  if (!report.ok()) return report.error();
  if (!report.value().left_out.empty())
    report_message(kExport,
                   fmt::format("{}{}", report.value().left_out,
                               options.steps.empty() ? "; --steps A-B chooses others" : ""));
  return write_output_file(options.html, report.value().html);
}

Error interrupted(const std::string& what) {
  return {ErrorKind::not_available, what + ": interrupted, no file is left behind"};
}

Status export_jsonl(const std::string& path, SessionReader& reader) {
  const SessionInfo& info = reader.info();
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  RecordJsonlWriter writer([&reader](RequestId request) { return reader.request_name(request); });
  Status written = file.value().write(writer.header(info.header) + "\n");
  std::int64_t num_steps = 0;
  for (std::int64_t step = reader.first_step(); step > 0 && written.ok(); ++num_steps) {
    if (was_interrupted()) return interrupted(path);
    const auto record = reader.read(step);
    if (!record.ok()) return record.error();
    written = file.value().write(writer.step(*record.value()) + "\n");
    const auto next = reader.step_after(step);
    if (!next.ok()) return next.error();
    step = next.value();
  }
  if (!written.ok()) return written;
  const auto bookmarks = reader.bookmarks();
  if (!bookmarks.ok()) return bookmarks.error();
  SessionEnd end{.status = info.status,
                 .reason = info.status_reason,
                 .note = info.note,
                 .bookmarks = {},
                 .num_steps = num_steps};
  for (const Bookmark& bookmark : bookmarks.value())
    end.bookmarks.emplace_back(bookmark.step, bookmark.note);
  return file.value().finish(writer.end(end) + "\n");
}

// Compares new decisions with recorded ones. Findings are not part of a trace.
class SameDecisions {
 public:
  SameDecisions(StepSource& recorded, const Engine& engine)
      : recorded_(recorded), digester_([&engine](RequestId id) { return engine.name_of(id); }) {}

  // Call for each step, in order.
  Status check(const StepTrace& trace) {
    const auto recorded = recorded_.next();
    if (!recorded.ok()) return recorded.error();
    if (recorded.value() == nullptr) return differs(trace.step, "there is no such step in");
    if (recorded.value()->step != trace.step)
      return differs(std::min(trace.step, recorded.value()->step),
                     "it is not a step of both runs:");
    StepDigests digests = digester_.digest(trace, {});
    digests[StepSection::findings] = recorded.value()->digests[StepSection::findings];
    if (digests == recorded.value()->digests) return Ok{};
    return differs(
        trace.step,
        section_list(different_sections(recorded.value()->digests, digests)) + " are not those of");
  }
  // Call when the run is over.
  Status check_end() {
    const auto recorded = recorded_.next();
    if (!recorded.ok()) return recorded.error();
    return recorded.value() == nullptr
               ? Status(Ok{})
               : differs(recorded.value()->step, "the run has ended before it, in");
  }

 private:
  Error differs(std::int64_t step, const std::string& how) const {
    return {
        ErrorKind::invalid_input,
        fmt::format("step {}: {} {}: the session does not reproduce here, so it cannot be written "
                    "as a trace (hybridscope sessions rerun); --jsonl has what was recorded",
                    step, how, recorded_.title())};
  }

  StepSource& recorded_;
  StepDigester digester_;
};

// A trace has tokens, which a session does not record: the plan runs again without checks, is
// compared with the recording, and is written on the way.
Status write_trace(const SessionInfo& info, StepSource& recorded, std::int64_t last_step,
                   OutputFile& file) {
  auto plan = read_session_plan(info.header.plan, "plan of session '" + info.header.name + "'");
  if (!plan.ok()) return plan.error();
  const std::string name = plan.value().name;
  const PolicyOverrides policies = plan.value().settings.policies;
  auto run = CheckedRun::create(std::move(plan).value(), {.check = std::nullopt});
  if (!run.ok()) return run.error();
  const Engine& engine = run.value().engine();
  TraceWriter writer(engine.config(), traced_requests_of(engine));
  if (Status written = file.write(writer.header(name, policies) + "\n"); !written.ok())
    return written;
  std::optional<SameDecisions> same;
  if (info.header.digest_version == kDigestVersion)
    same.emplace(recorded, engine);
  else
    report_message(
        kExport,
        fmt::format("{} was recorded by another version: decisions made now are not compared with "
                    "it",
                    recorded.title()));
  const auto write_step = [&](const CheckedStep& step) -> Result<Going> {
    if (step.trace.step > last_step) return Going::stop;
    if (same)
      if (Status agrees = same->check(step.trace); !agrees.ok()) return agrees.error();
    if (Status written = file.write(writer.step(step.trace) + "\n"); !written.ok())
      return written.error();
    return Going::on;
  };
  const auto driven = drive(run.value(), write_step, was_interrupted);
  if (!driven.ok()) return driven.error();
  if (driven.value() == Going::stop && was_interrupted()) return interrupted(info.header.name);
  if (same)
    if (Status ended = same->check_end(); !ended.ok()) return ended;
  return file.finish();
}

Status export_trace(const std::string& path, const SessionPlace& place,
                    const SessionReader& reader) {
  const SessionInfo& info = reader.info();
  if (info.header.kind != SessionKind::run)
    return invalid_input(fmt::format(
        "{}: a judged session is not written as a trace: it was made from the trace {}; --jsonl "
        "has all that was recorded",
        reader.title(), info.header.source));
  const auto recorded = open_session_source(place);
  if (!recorded.ok()) return recorded.error();
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return write_trace(info, *recorded.value(), reader.last_step(), file.value());
}

Status export_session(const ExportOptions& options) {
  const SessionPlace place = parse_session_place(options.place);
  const auto reader = SessionReader::open(place);
  if (!reader.ok()) return name_right_command("sessions export", options.place, reader.error());
  const SessionInfo& info = reader.value()->info();
  // The session that was found, even if none was named.
  const SessionPlace found{.file = place.file, .name = info.header.name};
  if (!options.html.empty())
    if (Status done = export_html(options, found, info); !done.ok()) return done;
  if (!options.jsonl.empty())
    if (Status done = export_jsonl(options.jsonl, *reader.value()); !done.ok()) return done;
  if (!options.trace.empty()) return export_trace(options.trace, found, *reader.value());
  return Ok{};
}

int run_export(const ExportOptions& options) {
  if (options.html.empty() && options.jsonl.empty() && options.trace.empty())
    return report_usage(kExport, "nothing to write, expected --html, --jsonl or --trace");
  if (!options.steps.empty() && !parse_range(options.steps))
    return report_usage(kExport,
                        fmt::format("--steps {}: expected A-B with 1 <= A <= B", options.steps));
  if (const Status apart = check_files({.inputs = {session_input(options.place)},
                                        .outputs = {{"--html", options.html},
                                                    {"--jsonl", options.jsonl},
                                                    {"--trace", options.trace}}});
      !apart.ok())
    return report_usage(kExport, apart.error().message);
  ask_for_interrupts();
  const Status done = export_session(options);
  return done.ok() ? kExitFine : report_error(kExport, done.error());
}

}  // namespace

Subcommand add_sessions_export(CLI::App& sessions) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* app = sessions.add_subcommand(
      "export", "write a session as an HTML report, as JSON Lines or as a trace");
  app->footer(
      "Examples:\n"
      "  hybridscope sessions export runs.db:before --html before.html\n"
      "  hybridscope sessions export runs.db:before --html part.html --steps 120-180\n"
      "  hybridscope sessions export runs.db:before --jsonl before.jsonl.zst\n"
      "  hybridscope sessions export runs.db:before --jsonl - | jq .step\n"
      "\n"
      "The report is one file that opens offline in any browser. A trace can be judged.\n"
      "Exit codes: 0 written, 2 usage, 3 no such session or step, 4 environment.");
  app->add_option("session", options->place, "the session; without a name the last one")
      ->required()
      ->type_name("FILE.db[:NAME]");
  auto* html = app->add_option("--html", options->html, "report to write, - for standard output")
                   ->type_name("OUT.html|-");
  app->add_option("--jsonl", options->jsonl, "everything of every step, - for standard output")
      ->type_name("OUT.jsonl[.zst]|-");
  app->add_option("--trace", options->trace, "the decisions in the judge's format; runs them again")
      ->type_name("OUT.jsonl[.zst]|-");
  app->add_option("--steps", options->steps,
                  "steps of the report (default: all of 2,000, else the first 200)")
      ->type_name("A-B")
      ->needs(html);
  return {.app = app, .run = [options] { return run_export(*options); }};
}

}  // namespace hybridscope
