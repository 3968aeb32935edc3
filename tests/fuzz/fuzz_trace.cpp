// The trace reader and the judge behind it: each line is a header, a step or an error that names
// its place; whatever a step told, judging it answers findings or an error.
#include <optional>
#include <string>

#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_reader.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace hybridscope::test::trace_target {
namespace {

// Would an engine of these sizes fit into some megabytes?
bool is_small(const EngineConfig& config) {
  return config.kv_cache_config.num_blocks <= 1 << 10 && config.max_num_seqs <= 1 << 6 &&
         config.max_num_batched_tokens <= 1 << 12 && config.max_model_len <= 1 << 12;
}

class Reading {
 public:
  // False: the trace cannot be read any further.
  bool read_line(std::string_view text, std::int64_t line) {
    const auto read = reader_.read_line(text, line);
    if (!read.ok()) {
      expect_one_line(read.error().message, "t.jsonl:");
      return false;
    }
    if (read.value() == TraceLine::header) start();
    if (read.value() == TraceLine::step) judge();
    return true;
  }

 private:
  void start() {
    judge_.reset();
    if (!is_small(reader_.header().config)) return;
    auto judge = TraceJudge::create(reader_.header());
    if (!judge.ok()) return expect_one_line(judge.error().message, "");
    judge_ = std::move(judge).value();
  }
  void judge() {
    if (!judge_) return;
    const auto judged = judge_->judge(reader_.step(), CheckScope::all);
    if (judged.ok()) return;
    expect_one_line(judged.error().message, "");
    judge_.reset();  // cannot be judged any further
  }

  TraceReader reader_{"t.jsonl"};
  std::optional<TraceJudge> judge_;
};

// Could every line be read?
bool read(std::string_view text) {
  Reading reading;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    if (!reading.read_line(text.substr(0, end), line)) return false;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace
}  // namespace hybridscope::test::trace_target

namespace hybridscope::test {

void fuzz_trace(std::string_view text) { note_read(text, trace_target::read(text)); }

}  // namespace hybridscope::test
