// Reading traffic files: 1,000 lines of 24 blocks each, already in memory.
#include <sstream>
#include <string>

#include "bench/support/measure.h"
#include "sessions/traffic/mooncake.h"
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

}  // namespace
}  // namespace hybridscope::bench
