#include <sstream>
#include <string>

#include "sessions/traffic/traffic_formats.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/fuzz_traffic_log.h"
#include "tests/support/read_traffic.h"

// The traffic reader: requests with what they say, or one line of error.

namespace hybridscope::test::traffic_target {
namespace {

void read(std::string_view text) {
  std::istringstream lines{std::string(text)};
  const auto traffic = test::read_traffic(lines);
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

// The reader of Mooncake rows with sessions.

void fuzz_mooncake_sessions(std::string_view text) { read_log(read_mooncake_sessions, text); }

// The reader of ShareGPT conversations.

void fuzz_sharegpt(std::string_view text) { read_log(read_sharegpt, text); }

// The reader of BurstGPT traces.

void fuzz_burstgpt(std::string_view text) { read_log(read_burstgpt, text); }

// The reader of vLLM's bench results.

void fuzz_vllm_bench(std::string_view text) { read_log(read_vllm_bench, text); }

// The reader of request logs in OpenAI's style.

void fuzz_openai_log(std::string_view text) { read_log(read_openai_log, text); }

}  // namespace hybridscope::test
