// A scenario file with bytes changed is either read or refused; nothing is thrown.
#include <gtest/gtest.h>

#include <sstream>

#include "core/base/fingerprint.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/text/json_reader.h"
#include "sessions/traffic/mooncake.h"
#include "tests/support/bytes_of.h"

namespace hybridscope::scenario_mutation_test {
namespace {

const std::string kFile = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/mixed_gdn_batch.json";

// One to four changes: a byte replaced, removed or doubled, a bit flipped, the rest cut off, a
// digit or a structural character put in.
std::string mutated(std::string text, std::uint64_t seed) {
  std::uint64_t state = mix(0x66757A7AULL, seed);
  const auto draw = [&](std::uint64_t below) { return (state = mix(state, below)) % below; };
  const std::string_view inserts = "{}[]\",:-0123456789eE.\\ntf \x80\xFF";
  const std::uint64_t changes = 1 + draw(4);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const auto at = static_cast<std::size_t>(draw(text.size()));
    switch (draw(7)) {
      case 0:
        text[at] = static_cast<char>(draw(256));
        break;
      case 1:
        text.erase(at, 1 + draw(8));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + draw(16)));
        break;
      case 3:
        text[at] = static_cast<char>(text[at] ^ (1 << draw(8)));
        break;
      case 4:
        if (draw(8) == 0) text.resize(at);
        break;
      default:
        text.insert(at, 1, inserts[draw(inserts.size())]);
    }
  }
  return text;
}

bool one_line_about(const std::string& message, const std::string& file) {
  return message.starts_with(file) && message.find('\n') == std::string::npos;
}

TEST(ScenarioMutations, GiveAScenarioOrOneLineOfError) {
  const std::string text = read_text_file(kFile).value();
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto scenario = parse_scenario({.text = mutated(text, seed), .file = "s.json"});
    if (!scenario.ok()) {
      ASSERT_TRUE(one_line_about(scenario.error().message, "s.json:"))
          << "seed " << seed << ": " << scenario.error().message;
      continue;
    }
    ++accepted;
    ASSERT_TRUE(resolve_requests(scenario.value()).ok()) << "seed " << seed;
    const auto back = parse_scenario({.text = write_scenario(scenario.value()), .file = "s.json"});
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(back.value(), scenario.value()) << "seed " << seed;
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1500);
}

TEST(TrafficMutations, GiveTrafficOrOneLineOfError) {
  const std::string text =
      R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 7]})"
      "\n"
      R"({"timestamp": 12, "input_length": 512, "output_length": 5, "hash_ids": [0]})"
      "\n";
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::istringstream lines(mutated(text, seed));
    const auto traffic = read_traffic(test::bytes_of(lines), "t.jsonl");
    if (traffic.ok()) {
      ++accepted;
      continue;
    }
    ASSERT_TRUE(one_line_about(traffic.error().message, "t.jsonl:"))
        << "seed " << seed << ": " << traffic.error().message;
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1500);
}

}  // namespace
}  // namespace hybridscope::scenario_mutation_test
