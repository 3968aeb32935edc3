#include "cli/sessions_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/common_options.h"
#include "cli/process.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/job/right_command.h"
#include "sessions/job/step_files.h"
#include "sessions/job/version.h"
#include "sessions/text/input_file.h"
#include "storage/record_jsonl.h"
#include "storage/session_writer.h"

namespace hybridscope {
namespace {

constexpr const char* kImport = "sessions import";

struct ImportOptions {
  std::string input;
  std::string place;
};

Result<std::unique_ptr<SessionWriter>> begin_session(const SessionPlace& place,
                                                     const SessionHeader& header,
                                                     const RecordJsonlReader& reader) {
  const auto name = [&reader](RequestId request) { return reader.request_name(request); };
  const Names names = make_names(header.config, name);
  const SessionPlace wanted{.file = place.file,
                            .name = place.name.empty() ? header.name : place.name};
  return SessionWriter::begin(wanted, header,
                              {.program = fmt::format("hybridscope {} (imported)", kVersion),
                               .request_name = name,
                               .finding_text = [names](const Finding& finding) {
                                 return explain_finding(finding, names);
                               }});
}

Error import_interrupted(const std::string& input) {
  return {ErrorKind::not_available, input + ": interrupted, nothing of it was imported"};
}

Status copy_steps(const std::string& input, LineSource& lines, RecordJsonlReader& reader,
                  SessionWriter& writer) {
  for (;;) {
    const auto line = lines.next();
    if (was_interrupted()) return import_interrupted(input);
    if (!line.ok()) return line.error();
    if (!line.value()) break;
    const std::string_view text = line.value()->text;
    const auto step = reader.read_step(text, lines.line_number(), writer.next_record());
    if (!step.ok()) return step.error();
    if (!step.value()) continue;
    if (Status pushed = writer.push(); !pushed.ok()) return pushed;
  }
  if (!reader.end())
    return Error{ErrorKind::corrupt,
                 fmt::format("{}:{}: not the last line of a session: the file is cut off", input,
                             lines.line_number())};
  return writer.finish(reader.end()->status, reader.end()->reason);
}

// The note and the bookmarks.
Status annotate(const std::string& path, std::int64_t session, const SessionEnd& end) {
  if (end.note.empty() && end.bookmarks.empty()) return Ok{};
  auto file = SessionFile::open(path, FileAccess::write);
  if (!file.ok()) return file.error();
  if (Status noted = file.value().set_note(session, end.note); !noted.ok()) return noted;
  for (const auto& [step, note] : end.bookmarks)
    if (auto added = file.value().add_bookmark(session, step, note); !added.ok())
      return added.error();
  return Ok{};
}

// Removes what was imported so far, unless all of it was: also when an exception ends the import.
class WholeImport {
 public:
  explicit WholeImport(SessionWriter& writer) : writer_(&writer) {}
  ~WholeImport() {
    if (writer_ == nullptr) return;
    if (Status removed = writer_->discard(); !removed.ok())
      report_message(kImport, removed.error().message);
  }
  WholeImport(const WholeImport&) = delete;
  WholeImport& operator=(const WholeImport&) = delete;
  void keep() { writer_ = nullptr; }

 private:
  SessionWriter* writer_;
};

// `code`: the exit code of an error.
Status import_session(const ImportOptions& options, int& code) {
  auto lines = LineSource::open(options.input, was_interrupted);
  if (!lines.ok()) return lines.error();
  const auto first = lines.value().next();
  if (was_interrupted()) return import_interrupted(options.input);
  if (!first.ok()) return first.error();
  if (!first.value())
    return Error{ErrorKind::corrupt, options.input + ": empty, expected the header of a session"};
  RecordJsonlReader reader(options.input);
  const auto header = reader.read_header(first.value()->text, 1);
  if (!header.ok()) return header.error();
  const SessionPlace place = parse_session_place(options.place);
  auto begun = begin_session(place, header.value(), reader);
  if (!begun.ok()) {
    code = record_exit_code(begun.error());
    return begun.error();
  }
  std::unique_ptr<SessionWriter> writer = std::move(begun).value();
  const std::string name = writer->name();
  const std::int64_t session = writer->session();
  WholeImport whole(*writer);
  Status copied = copy_steps(options.input, lines.value(), reader, *writer);
  if (copied.ok()) copied = annotate(place.file, session, *reader.end());
  if (!copied.ok()) return copied;
  whole.keep();
  fmt::print("{}:{}: {} steps\n", place.file, name, reader.end()->num_steps);
  return Ok{};
}

}  // namespace

Subcommand add_sessions_import(CLI::App& sessions) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* app =
      sessions.add_subcommand("import", "make a session from what export --jsonl wrote");
  app->footer(
      "Examples:\n"
      "  hybridscope sessions import before.jsonl.zst runs.db\n"
      "  zstdcat before.jsonl.zst | hybridscope sessions import - runs.db:from_ci\n"
      "\n"
      "An existing session is never overwritten; nothing of a damaged file is kept.\n"
      "Exit codes: 0 imported, 2 usage, a name that is taken, 3 damaged or unreadable input,\n"
      "4 environment.");
  app->add_option("input", options->input, "what was exported, - for standard input")
      ->required()
      ->type_name("IN.jsonl[.zst]|-");
  app->add_option("session", options->place,
                  "where to import to; without a name the session keeps its own")
      ->required()
      ->type_name("FILE.db[:NAME]");
  return {.app = app, .run = [options] {
            OutputTarget session = recording(options->place);
            session.option = "the session file";
            if (const Status apart = check_files(
                    {.inputs = {{"what is imported", options->input}}, .outputs = {session}});
                !apart.ok())
              return report_usage(kImport, apart.error().message);
            ask_for_interrupts();
            int code = kExitFine;
            const Status done = import_session(*options, code);
            if (done.ok()) return static_cast<int>(kExitFine);
            const int by_kind = report_error(
                kImport, name_right_command("sessions import", options->input, done.error()));
            if (was_interrupted()) return static_cast<int>(kExitInterrupted);
            return code == kExitFine ? by_kind : code;
          }};
}

}  // namespace hybridscope
