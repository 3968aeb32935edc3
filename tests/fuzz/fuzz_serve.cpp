#include "sessions/plan/serve_line.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

// The reader of pasted commands. What it accepts is written back unchanged, and with one setting
// changed it is read again with that setting.

namespace hybridscope::test {

void fuzz_serve(std::string_view text) {
  const auto line = ServeLine::parse(text);
  note_read(text, line.ok());
  if (!line.ok()) return expect_one_line(line.error().message, "");
  const ServeLine& read = line.value();
  expect(read.with(read.settings()).text == read.text(), "nothing changes by itself", read.text());
  EngineSettings wanted = read.settings();
  wanted.max_num_seqs = read.settings().max_num_seqs == 7 ? 8 : 7;
  const std::string written = read.with(wanted).text;
  const auto again = ServeLine::parse(written);
  expect(again.ok(), "what was written can be read", again.ok() ? "" : again.error().message);
  expect(again.value().settings().max_num_seqs == wanted.max_num_seqs, "with its change", written);
  expect(again.value().model() == read.model(), "and the same model", written);
}

}  // namespace hybridscope::test
