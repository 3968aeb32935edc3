// The traffic reader: requests with what they say, or one line of error.
#include <sstream>
#include <string>

#include "sessions/traffic/mooncake.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/bytes_of.h"

namespace hybridscope::test::traffic_target {
namespace {

void read(std::string_view text) {
  std::istringstream lines{std::string(text)};
  const auto traffic = read_traffic(test::bytes_of(lines), "t.jsonl");
  note_read(text, traffic.ok());
  if (!traffic.ok()) return expect_one_line(traffic.error().message, "t.jsonl:");
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  for (const ArrivingRequest& arriving : traffic.value().requests) {
    prompt_tokens += num_prompt_tokens(arriving.request);
    output_tokens += arriving.request.max_tokens;
  }
  expect(prompt_tokens == traffic.value().num_prompt_tokens, "prompt tokens add up");
  expect(output_tokens == traffic.value().num_output_tokens, "output tokens add up");
}

}  // namespace
}  // namespace hybridscope::test::traffic_target

namespace hybridscope::test {

void fuzz_traffic(std::string_view text) { traffic_target::read(text); }

}  // namespace hybridscope::test
