// The reader of an exported session (`sessions import`): each line is a header, a step or an end,
// or an error that names its place. What is read can be written again.
#include <string>

#include "storage/record_jsonl.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace hybridscope::test::session_lines_target {
namespace {

// Takes the first line off the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool refused(const Error& error) {
  expect_one_line(error.message, "in.jsonl:");
  return false;
}

// Was it a whole session?
bool read(std::string_view text) {
  RecordJsonlReader reader("in.jsonl");
  const auto header = reader.read_header(take_line(text), 1);
  if (!header.ok()) return refused(header.error());
  RecordJsonlWriter writer([&reader](RequestId request) { return reader.request_name(request); });
  StepRecord record;
  for (std::int64_t line = 2; !text.empty(); ++line) {
    const auto step = reader.read_step(take_line(text), line, record);
    if (!step.ok()) return refused(step.error());
    if (step.value()) expect(!writer.step(record).empty(), "a step can be written again");
  }
  if (!reader.end()) return false;
  const std::string written = writer.end(*reader.end());
  expect(written.find("\"end\"") != std::string::npos, "an end can be written again", written);
  return true;
}

}  // namespace
}  // namespace hybridscope::test::session_lines_target

namespace hybridscope::test {

void fuzz_session_lines(std::string_view text) {
  note_read(text, session_lines_target::read(text));
}

}  // namespace hybridscope::test
