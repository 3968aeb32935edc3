// Reading traffic files that are in memory: 1,000 lines of 24 blocks each, and 200 conversations of
// 5 turns as texts.
#include <sstream>
#include <string>

#include "bench/support/measure.h"
#include "sessions/traffic/mooncake.h"
#include "sessions/traffic/sharegpt.h"
#include "tests/support/bytes_of.h"

namespace hybridscope::bench {
namespace {

constexpr int kLines = 1000;
constexpr int kBlocksALine = 24;

std::string traffic_lines() {
  std::string text;
  for (int line = 0; line < kLines; ++line) {
    text += "{\"timestamp\": " + std::to_string(3 * line) +
            ", \"input_length\": " + std::to_string(kBlocksALine * kTrafficBlockTokens) +
            ", \"output_length\": 300, \"hash_ids\": [0";
    for (int i = 1; i < kBlocksALine; ++i) text += ", " + std::to_string(kBlocksALine * line + i);
    text += "]}\n";
  }
  return text;
}

void read_traffic_lines(benchmark::State& state) {
  const std::string text = traffic_lines();
  measure(state, kLines, [&] {
    std::istringstream lines(text);
    return read_traffic(test::bytes_of(lines), "traffic.jsonl");
  });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_traffic_lines);

constexpr int kConversations = 200;
constexpr int kTurns = 5;

std::string conversations() {
  std::string text = "[";
  for (int c = 0; c < kConversations; ++c) {
    text += std::string(c > 0 ? ",\n" : "") + R"({"id": "x", "conversations": [)";
    for (int t = 0; t < kTurns; ++t) {
      const std::string said(400, static_cast<char>('a' + (c + t) % 26));
      text += std::string(t > 0 ? "," : "") + R"({"from": "human", "value": ")" + said +
              R"("}, {"from": "gpt", "value": ")" + said + said + "\"}";
    }
    text += "]}";
  }
  return text + "]";
}

void read_sharegpt_conversations(benchmark::State& state) {
  const std::string text = conversations();
  measure(state, kConversations * kTurns, [&] {
    std::istringstream bytes(text);
    return read_sharegpt({.read = test::bytes_of(bytes), .file = "chats.json"});
  });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_sharegpt_conversations);

}  // namespace
}  // namespace hybridscope::bench
