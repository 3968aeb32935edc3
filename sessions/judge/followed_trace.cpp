#include "sessions/judge/followed_trace.h"

#include <nlohmann/json.hpp>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hybridscope {
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
