// Reading and judging traces, already in memory: 100 steps of 256 decodes with drafts, once with
// every optional member and once without metadata and copies.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/support/measure.h"
#include "bench/support/model_config.h"
#include "core/engine/engine.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/trace_writer.h"

namespace hybridscope::bench {
namespace {

constexpr std::int32_t kRequests = 256;
constexpr std::int32_t kPromptTokens = 2000;
constexpr std::int64_t kMaxSteps = 100;

struct TraceText {
  std::vector<std::string> lines;  // each followed by kLinePadding bytes
  std::int64_t bytes = 0;
  std::int64_t request_steps = 0;

  PaddedLine line(std::size_t i) const {
    return {std::string_view(lines[i]).substr(0, lines[i].size() - kLinePadding)};
  }
};

enum class Traced { everything, no_metadata };

TraceText make_trace(Traced traced) {
  Engine engine = Engine::create(model_config("qwen3-next-80b-a3b", 2)).value();
  for (std::int32_t i = 0; i < kRequests; ++i) {
    const auto key = static_cast<std::uint64_t>(i) + 1;
    const auto added = engine.add_request({.name = "r" + std::to_string(i),
                                           .prompt = {{.content = key, .length = kPromptTokens}},
                                           .max_tokens = 5000,
                                           .key = key});
    HS_EXPECT(added.ok());
  }
  TraceWriter writer(engine.config(),
                     {.name = [&](RequestId id) { return engine.name_of(id); },
                      .token = [&](RequestId id, std::int32_t p) { return engine.token(id, p); }});
  TraceText trace;
  const auto add = [&](std::string line) {
    trace.bytes += static_cast<std::int64_t>(line.size()) + 1;
    trace.lines.push_back(std::move(line) + std::string(kLinePadding, ' '));
  };
  add(writer.header("bench"));
  for (std::int64_t step = 0; step < kMaxSteps; ++step) {
    const StepTrace& decided = engine.step();
    std::string line = writer.step(decided);
    if (traced == Traced::no_metadata) {
      auto json = nlohmann::ordered_json::parse(line);
      for (const char* member :
           {"attn_metadata", "cudagraph", "preprocess_copies", "postprocess_copies"})
        json.erase(member);
      line = json.dump();
    }
    add(std::move(line));
    trace.request_steps += static_cast<std::int64_t>(decided.rows.size());
  }
  return trace;
}

// Called with every step of the trace.
template <class Judge>
void read_all(const TraceText& trace, Judge judge) {
  TraceReader reader("bench.jsonl");
  for (std::size_t i = 0; i < trace.lines.size(); ++i) {
    const auto kind = reader.read_line(trace.line(i), static_cast<std::int64_t>(i) + 1);
    HS_EXPECT(kind.ok());
    judge(kind.value(), reader);
  }
}

void read_trace(benchmark::State& state, Traced traced) {
  const TraceText trace = make_trace(traced);
  measure(state, trace.request_steps, [&] {
    std::size_t rows = 0;
    read_all(trace, [&](TraceLine kind, const TraceReader& reader) {
      if (kind == TraceLine::step) rows += reader.step().rows.size();
    });
    return rows;
  });
  state.SetBytesProcessed(state.iterations() * trace.bytes);
}
BENCHMARK_CAPTURE(read_trace, everything, Traced::everything);
BENCHMARK_CAPTURE(read_trace, no_metadata, Traced::no_metadata);

void judge_trace(benchmark::State& state, Traced traced) {
  const TraceText trace = make_trace(traced);
  measure(state, trace.request_steps, [&] {
    std::optional<TraceJudge> judge;
    std::size_t findings = 0;
    read_all(trace, [&](TraceLine kind, const TraceReader& reader) {
      if (kind == TraceLine::header) judge.emplace(TraceJudge::create(reader.header()).value());
      if (kind == TraceLine::step)
        findings += judge->judge(reader.step(), CheckScope::step).value().findings.size();
    });
    HS_EXPECT(findings == 0);
    return findings;
  });
  state.SetBytesProcessed(state.iterations() * trace.bytes);
}
BENCHMARK_CAPTURE(judge_trace, everything, Traced::everything);
BENCHMARK_CAPTURE(judge_trace, no_metadata, Traced::no_metadata);

}  // namespace
}  // namespace hybridscope::bench
