#include "sessions/plan/step_time.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sessions/text/input_file.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

StepWork StepWorkCounter::count(const StepTrace& trace) const {
  StepWork work;
  for (const ScheduledTrace& row : trace.scheduled) {
    const std::int32_t of_prompt =
        std::clamp(row.num_prompt_tokens - row.num_computed_tokens, 0, row.num_scheduled_tokens);
    work.prefill += of_prompt;
    work.decode += row.num_scheduled_tokens - of_prompt;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (const StateCopyTrace& copy : launch->copies)
      work.copied_bytes += bytes_.copy_bytes(copy.group, copy.accept_token_bias);
  return work;
}

namespace {

constexpr double kMostUs = 1e12;

struct Term {
  std::string_view name;  // empty: the base
  double StepTime::*value;
};
constexpr std::array kTerms = {
    Term{"", &StepTime::base_us},
    Term{"prefill", &StepTime::prefill_us},
    Term{"decode", &StepTime::decode_us},
    Term{"copied_bytes", &StepTime::copied_byte_us},
};

struct Unit {
  std::string_view name;
  double us;
};
constexpr std::array kUnits = {Unit{"us", 1}, Unit{"ms", 1e3}, Unit{"ns", 1e-3}, Unit{"s", 1e6}};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "30us"; empty: no such number.
std::optional<double> microseconds(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(stop - text.data())));
  if (unit.empty()) return value;
  const auto found = std::ranges::find(kUnits, unit, &Unit::name);
  return found == kUnits.end() ? std::nullopt : std::optional(value * found->us);
}

class Clock : public StepClock {
 public:
  Clock(const StepTime& time, const EngineConfig& config) : time_(time), work_(config) {}

  std::int64_t duration_us(const StepTrace& trace) const override {
    return std::llround(std::min(time_.of(work_.count(trace)), kMostUs));
  }

 private:
  StepTime time_;
  StepWorkCounter work_;
};

}  // namespace

double StepTime::of(const StepWork& work) const {
  return base_us + prefill_us * static_cast<double>(work.prefill) +
         decode_us * static_cast<double>(work.decode) +
         copied_byte_us * static_cast<double>(work.copied_bytes);
}

Result<StepTime> parse_step_time(std::string_view text) {
  StepTime time;
  std::array<bool, kTerms.size()> seen{};
  for (std::string_view rest = text;;) {
    const std::size_t plus = rest.find('+');
    const std::string_view term = trimmed(rest.substr(0, plus));
    const std::size_t star = term.find('*');
    const std::string_view number = trimmed(term.substr(0, star));
    const std::string_view name =
        star == term.npos ? std::string_view() : trimmed(term.substr(star + 1));
    const auto kind = std::ranges::find(kTerms, name, &Term::name);
    const auto value = microseconds(number);
    if (kind == kTerms.end() || (star != term.npos && name.empty()) || !value || *value > kMostUs)
      return invalid_input(fmt::format(
          "step time: {} is no term (expected a sum such as 20000 + 30*prefill + 30*decode + "
          "0.0002*copied_bytes, in microseconds or with units: 20ms + 30us*prefill)",
          quoted_text(term)));
    if (std::exchange(seen[static_cast<std::size_t>(kind - kTerms.begin())], true))
      return invalid_input(
          fmt::format("step time: two terms of {}", name.empty() ? "a number alone" : name));
    time.*kind->value = *value;
    if (plus == rest.npos) return time;
    rest.remove_prefix(plus + 1);
  }
}

Result<StepTime> read_step_time_file(const std::string& file) {
  const auto wrong = [](std::string message) {
    return Error{ErrorKind::corrupt, std::move(message)};
  };
  auto lines = LineSource::open(file);
  if (!lines.ok()) return lines.error();
  std::optional<StepTime> time;
  for (;;) {
    const auto line = lines.value().next();
    if (!line.ok()) return line.error();
    if (!line.value()) break;
    std::string_view text = line.value()->text;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (trimmed(text).empty() || trimmed(text).starts_with('#')) continue;
    const std::string at = fmt::format("{}:{}: ", file, lines.value().line_number());
    if (time) return wrong(at + "a second step time (expected one line beside those with #)");
    const auto read = parse_step_time(text);
    if (!read.ok()) return wrong(at + read.error().message);
    time = read.value();
  }
  if (!time) return wrong(file + ": no step time (expected a line with a sum)");
  return *time;
}

std::string step_time_text(const StepTime& time) {
  std::string text = fmt::format("{}", time.base_us);
  for (const Term& term : kTerms)
    if (!term.name.empty() && time.*term.value > 0)
      text += fmt::format(" + {}*{}", time.*term.value, term.name);
  return text;
}

std::shared_ptr<const StepClock> make_step_clock(const StepTime& time, const EngineConfig& config) {
  return std::make_shared<Clock>(time, config);
}

}  // namespace hybridscope
