#include "sessions/traffic/vllm_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/traffic/log_words.h"

namespace hybridscope::vllm_bench_test {
namespace {

using test::input_of;
using test::words_of;
using testing::ElementsAre;

// The members that vllm bench serve writes before the measured ones.
std::string result_with(const std::string& members) {
  return R"({"date": "20261128-073000", "endpoint_type": "vllm", "backend": "vllm", "label": null,
 "model_id": "m", "tokenizer_id": "m", "num_prompts": 3, "request_rate": "inf",
 "burstiness": 1.0, "max_concurrency": null, "duration": 1.5, "completed": 3)" +
         members + ", \"mean_ttft_ms\": 20.5}\n";
}

Result<TrafficLog> read(const std::string& text) {
  return read_vllm_bench(input_of(text, "r.json"));
}

TEST(VllmBench, ARequestHasTheLengthsAndTheStartOfTheArrays) {
  const auto log = read(result_with(R"(, "input_lens": [1024, 7, 12], "output_lens": [128, 3, 0],
 "ttfts": [0.1, 0.2, 0.3], "itls": [[0.01, 0.02], [], []],
 "start_times": [500.25, 499.75, 501.0], "generated_texts": ["a", "]}", "\"{"],
 "errors": ["", "", ""])"));
  EXPECT_THAT(words_of(log), ElementsAre("r1 @500000 in 0: 1024 -> 128", "r2 @0 in 1: 7 -> 3",
                                         "r3 @1250000 in 2: 12 -> 1"));
  EXPECT_EQ(log.value().num_out_of_order, 1);
  EXPECT_EQ(log.value().num_without_output, 1);
  EXPECT_THAT(log.value().notes,
              ElementsAre("the file has no contents, so no prompt shares anything"));
}

TEST(VllmBench, WithoutStartsRequestsHaveNoTime) {
  EXPECT_THAT(words_of(read(result_with(R"(, "input_lens": [5], "output_lens": [6])"))),
              ElementsAre("r1 in 0: 5 -> 6"));
}

TEST(VllmBench, RequestsThatFailedAreLeftOut) {
  const auto log = read(result_with(
      R"(, "input_lens": [5, 5, 0], "output_lens": [6, 0, 6], "errors": ["", "timeout", ""])"));
  EXPECT_THAT(words_of(log), ElementsAre("r1 in 0: 5 -> 6"));
  EXPECT_EQ(log.value().notes.front(),
            "left out because they failed or have no prompt: 2 of 3 requests");
}

TEST(VllmBench, AResultWithoutDetailsNamesTheOptionThatWritesThem) {
  EXPECT_EQ(read(result_with("")).error().message,
            "r.json:1: there is no \"input_lens\" (expected a result that vllm bench serve wrote "
            "with --save-result --save-detailed)");
}

TEST(VllmBench, ErrorsNameTheLineOfTheArray) {
  const auto error = [](const std::string& members) {
    return read(result_with(members)).error().message;
  };
  EXPECT_EQ(error(R"(, "input_lens": [5, 6], "output_lens": [6])"),
            "r.json:3: /output_lens: found 1 elements (expected 2, as input_lens has)");
  EXPECT_EQ(error(R"(, "input_lens": [5, -6], "output_lens": [6, 6])"),
            "r.json:3: /input_lens/1: expected an integer from 0 to 16777216, found -6");
  EXPECT_EQ(error(", \"input_lens\": [5], \"output_lens\":\n [6], \"start_times\":\n [\"x\"]"),
            "r.json:5: /start_times/0: expected a number of seconds, found \"x\"");
  EXPECT_EQ(error(R"(, "input_lens": 5)"), "r.json:3: /input_lens: expected an array, found 5");
  EXPECT_EQ(error(R"(, "input_lens": [], "output_lens": [])"), "r.json:3: /input_lens: no request");
  EXPECT_EQ(read(result_with(R"(, "input_lens": [5], "output_lens": [6])") + "{}").error().message,
            "r.json:4: found \"{\" (expected the end of the file)");
}

}  // namespace
}  // namespace hybridscope::vllm_bench_test
