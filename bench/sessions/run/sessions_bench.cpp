// What sessions read and write in memory (traces, plans, traffic), and what a snapshot of a run
// costs.

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/support/bench_engines.h"
#include "bench/support/measure.h"
#include "core/base/fingerprint.h"
#include "core/engine/engine.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/record/session_plan.h"
#include "sessions/run/checked_run.h"
#include "sessions/traffic/traffic_formats.h"
#include "sessions/traffic/traffic_load.h"
#include "tests/support/bytes_of.h"
#include "tests/support/read_traffic.h"

namespace hybridscope::bench {

// Reading and judging traces, already in memory: 100 steps of 256 decodes with drafts, once with
// every optional member and once without metadata and copies.

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

// What a snapshot of a live run costs: a checked run copied while many requests run.

void clone_runner_and_checker(benchmark::State& state) {
  Traffic traffic = make_synthetic_traffic({.num_conversations = 2000}).value();
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  CheckedRun run =
      CheckedRun::create(
          plan_traffic(std::move(traffic),
                       {.name = "synthetic", .model = "qwen3-next-80b-a3b", .settings = settings})
              .value())
          .value();
  for (int i = 0; i < 1000; ++i) (void)run.step().value();
  measure(state, run.engine().num_unfinished(), [&] { return run.clone(); });
  state.counters["blocks"] = run.engine().config().kv_cache_config.num_blocks;
}
BENCHMARK(clone_runner_and_checker);

// A plan as text and back: as many requests and prompt segments as an hour of real traffic has.

constexpr int kNumRequests = 12'031;
constexpr int kSegments = 24;

RunPlan traffic_plan() {
  Traffic traffic;
  for (int i = 0; i < kNumRequests; ++i) {
    ArrivingRequest arriving{.arrival_us = 300'000LL * i, .request = {}};
    arriving.request.name = "r" + std::to_string(i + 1);
    arriving.request.key = mix(1, static_cast<std::uint64_t>(i));
    arriving.request.max_tokens = 343;
    for (int s = 0; s < kSegments; ++s)
      arriving.request.prompt.push_back(
          {.content = mix(arriving.request.key, static_cast<std::uint64_t>(s)), .length = 512});
    traffic.requests.push_back(std::move(arriving));
  }
  return plan_traffic(std::move(traffic),
                      {.name = "traffic", .model = "qwen3-next-80b-a3b", .settings = {}})
      .value();
}

void write_session_plan_of_traffic(benchmark::State& state) {
  const RunPlan plan = traffic_plan();
  measure(state, kNumRequests, [&] { return write_session_plan(plan); });
}
BENCHMARK(write_session_plan_of_traffic);

void read_session_plan_of_traffic(benchmark::State& state) {
  const std::string text = write_session_plan(traffic_plan());
  measure(state, kNumRequests, [&] { return read_session_plan(text, "plan"); });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_session_plan_of_traffic);

// Reading traffic files that are in memory: 1,000 lines of 24 blocks each, and 200 conversations of
// 5 turns as texts.

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
    return test::read_traffic(lines);
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
