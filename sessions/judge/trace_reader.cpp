#include "sessions/judge/trace_reader.h"

#define XXH_INLINE_ALL
#include <fmt/core.h>
#include <simdjson.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "sessions/judge/step_parts.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {

static_assert(kLinePadding >= simdjson::SIMDJSON_PADDING);

struct TraceReader::State {
  std::string file;
  simdjson::dom::parser parser;
  std::string padded;  // copy of a line that came without padding

  std::optional<ForeignHeader> header;
  TraceLimits limits;
  LiveRequests requests;
  ForeignStep step;
  bool has_step = false;  // `step` is the last step of this trace
  std::set<std::string, std::less<>> metadata_fields = metadata_field_names();

  Result<simdjson::dom::element> parse(std::string_view text, std::int64_t line);
  void read_header_line(const JsonValue& root);
  void read_step_line(const JsonValue& root, std::int64_t line);
  Status check_has_output() const;
  void read_step(const JsonValue& root, StepContext& context);
};

namespace {

constexpr std::int64_t kMaxStepTimeUs = 1'000'000'000'000;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string place(const std::string& file, std::int64_t line) {
  return fmt::format("{}:{}", file, line);
}

}  // namespace

// The slower parser finds the position of a syntax error.
Result<simdjson::dom::element> TraceReader::State::parse(std::string_view text, std::int64_t line) {
  simdjson::dom::element root;
  const simdjson::error_code code = parser.parse(text.data(), text.size(), false).get(root);
  if (code == simdjson::SUCCESS) return root;
  const Result<nlohmann::json> located =
      parse_json({.text = text, .file = file, .line = static_cast<int>(line)});
  if (!located.ok()) return located.error();
  return Error{ErrorKind::corrupt,
               fmt::format("{}: {}", place(file, line), simdjson::error_message(code))};
}

void TraceReader::State::read_header_line(const JsonValue& root) {
  header = read_header(root);
  limits = make_trace_limits(header->config);
  requests = {};
  step.clear();
  has_step = false;
}

Status TraceReader::State::check_has_output() const {
  if (!has_step || step.sampled_token_ids) return Ok{};
  return invalid_input(fmt::format(
      "{}: key \"model_runner_output\" is missing (only the last step of a trace may leave it out)",
      place(file, step.line)));
}

void TraceReader::State::read_step_line(const JsonValue& root, std::int64_t line) {
  const std::int64_t last = has_step ? step.step : -1;
  has_step = true;
  step.clear();
  step.line = line;
  requests.begin_step();
  StepContext context{.config = header->config,
                      .limits = limits,
                      .requests = requests,
                      .step = step,
                      .metadata_fields = metadata_fields};
  step.step = root.require("step").int64({0, INT64_MAX});
  if (step.step <= last)
    root.fail_at("step",
                 fmt::format("step {} after step {}, expected a greater one", step.step, last));
  read_step(root, context);
}

void TraceReader::State::read_step(const JsonValue& root, StepContext& context) {
  const auto required = [&](std::string_view key, void (*read)(const JsonValue&, StepContext&)) {
    read(root.require(key), context);
  };
  const auto optional = [&](std::string_view key, auto read) {
    if (const auto member = root.find(key)) read(*member, context);
  };
  required("scheduler_output", read_scheduler_output);
  required("scheduler_block_ids", read_scheduler_block_ids);
  optional("num_drafts_offered", read_drafts_offered);
  required("input_batch", read_input_batch);
  optional("num_cached_block", read_num_cached_block);
  optional("block_hashes", [&](const JsonValue& value, StepContext&) {
    step.block_hashes = read_block_hashes(value, context);
  });
  optional("block_hashes_after_output", [&](const JsonValue& value, StepContext&) {
    step.block_hashes_after_output = read_block_hashes(value, context);
  });
  optional("num_tokens_after_output", read_num_tokens_after_output);
  optional("prefill_checkpoints", read_prefill_checkpoints);
  optional("reset_prefix_cache", [&](const JsonValue& value, StepContext&) {
    step.reset_prefix_cache = value.boolean();
  });
  optional("preempted_by_command", read_preempted_by_command);
  optional("num_drafts_proposed", read_drafts_proposed);
  optional("token_budget", [&](const JsonValue& value, StepContext&) {
    step.token_budget = value.int32({0, context.limits.max_num_batched_tokens});
  });
  optional("step_time_us", [&](const JsonValue& value, StepContext&) {
    step.step_time_us = value.int64({0, kMaxStepTimeUs});
  });
  optional("preprocess_copies", [&](const JsonValue& value, StepContext&) {
    step.preprocess_copies = read_copies(value, context);
  });
  optional("cudagraph",
           [&](const JsonValue& value, StepContext&) { step.graph = read_cudagraph(value); });
  optional("attn_metadata", read_attn_metadata);
  optional("states", read_states);
  optional("postprocess_copies", [&](const JsonValue& value, StepContext&) {
    step.postprocess_copies = read_copies(value, context);
  });
  optional("model_runner_output", read_model_runner_output);
}

TraceReader::TraceReader(std::string file) : state_(std::make_unique<State>()) {
  state_->file = file == "-" ? "<stdin>" : std::move(file);
}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

Result<TraceLine> TraceReader::read_line(PaddedLine text, std::int64_t line) {
  if (is_blank(text.text) || is_control_line(text.text)) return TraceLine::empty;
  const Result<simdjson::dom::element> parsed = state_->parse(text.text, line);
  if (!parsed.ok()) return parsed.error();
  const auto root = JsonValue::of_line(parsed.value());
  if (root.find(kVersionKey)) {
    const Status read =
        read_json(place(state_->file, line), [&] { state_->read_header_line(root); });
    return read.ok() ? Result(TraceLine::header) : read.error();
  }
  if (!state_->header)
    return invalid_input(fmt::format("{}: key \"{}\" is missing (expected a header first)",
                                     place(state_->file, line), kVersionKey));
  if (Status complete = state_->check_has_output(); !complete.ok()) return complete.error();
  const Status read =
      read_json(place(state_->file, line), [&] { state_->read_step_line(root, line); });
  return read.ok() ? Result(TraceLine::step) : read.error();
}

Result<TraceLine> TraceReader::read_line(std::string_view text, std::int64_t line) {
  state_->padded.assign(text);
  state_->padded.append(kLinePadding, ' ');
  return read_line(PaddedLine{std::string_view(state_->padded).substr(0, text.size())}, line);
}

const std::string& TraceReader::file() const { return state_->file; }

const ForeignHeader& TraceReader::header() const {
  HS_EXPECT(state_->header.has_value());
  return *state_->header;
}

const ForeignStep& TraceReader::step() const { return state_->step; }

const std::string& TraceReader::name_of(RequestId request) const {
  return state_->requests.name_of(request);
}

std::int32_t TraceReader::num_requests() const { return state_->requests.count(); }

namespace {

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

// Trace lines are long and many, so only a control line is parsed.
bool is_control_line(std::string_view text) {
  text = without_spaces(text);
  if (!text.starts_with('{')) return false;
  return without_spaces(text.substr(1)).starts_with("\"control\"");
}

std::optional<ControlLine> read_control_line(std::string_view text) {
  if (!is_control_line(text)) return std::nullopt;
  ControlLine line;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return line;
  const auto kind = json.find("control");
  if (*kind == "running") line.kind = ControlLine::Kind::running;
  if (*kind == "held") line.kind = ControlLine::Kind::held;
  if (*kind == "end") line.kind = ControlLine::Kind::end;
  if (*kind == "full") line.kind = ControlLine::Kind::full;
  if (const auto step = json.find("step"); step != json.end() && step->is_number_integer())
    line.step = step->get<std::int64_t>();
  if (const auto reason = json.find("reason"); reason != json.end() && reason->is_string())
    line.reason = reason->get<std::string>();
  return line;
}

FollowedLine FollowedTrace::end_stream() {
  bytes_before_ = bytes_taken();
  source_.reset();
  number_ = 0;
  return {};
}

void FollowedTrace::start_over() {
  input_.close();
  (void)end_stream();
}

Result<FollowedLine> FollowedTrace::next() {
  if (!source_)
    source_.emplace(input_.place(), [this](std::span<char> bytes) { return input_.read(bytes); });
  const auto line = source_->next();
  if (!line.ok()) return line.error();
  if (!line.value() || !source_->ended_with_newline()) {
    const bool is_cut = line.value().has_value();
    FollowedLine ended = end_stream();
    ended.is_cut = is_cut;
    return ended;
  }
  FollowedLine followed{.kind = FollowedLine::Kind::trace, .text = *line.value()};
  if (auto control = read_control_line(followed.text.text)) {
    followed.kind = FollowedLine::Kind::control;
    followed.control = *std::move(control);
    if (followed.control.kind == ControlLine::Kind::end) ++number_;
    return followed;
  }
  followed.number = ++number_;
  return followed;
}

KnownLines::Is KnownLines::take(std::string_view line) {
  const std::uint64_t hash = XXH3_64bits(line.data(), line.size());
  if (next_ == hashes_.size()) {
    hashes_.push_back(hash);
    ++next_;
    return Is::news;
  }
  if (hashes_[next_] != hash) return Is::another;
  ++next_;
  return Is::known;
}

}  // namespace hybridscope
