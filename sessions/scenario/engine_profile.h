// The source of all policies that are not set one by one: a named profile, or an engine as it was
// on a given day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hybridscope {

// A day of the Gregorian calendar. Earlier days compare less.
struct CalendarDate {
  std::int32_t year = 0;
  std::int32_t month = 0;  // 1..12
  std::int32_t day = 0;    // 1..31
  friend constexpr auto operator<=>(const CalendarDate&, const CalendarDate&) = default;
};

// Parses "2026-06-29". Empty for text that is not a date from 2000-01-01 to 2099-12-31 with leading
// zeros.
std::optional<CalendarDate> parse_date(std::string_view text);
std::string date_text(const CalendarDate& date);

struct EngineProfile {
  enum class Kind : std::uint8_t {
    safe,       // never corrupts state
    reference,  // does what the reference does
    vllm,       // vLLM as it was on `date`, with the known faults of that day
  };
  Kind kind = Kind::safe;
  CalendarDate date = {};  // vllm only

  static const EngineProfile safe;
  static const EngineProfile reference;
  static constexpr EngineProfile vllm(CalendarDate date) { return {Kind::vllm, date}; }
  friend bool operator==(const EngineProfile&, const EngineProfile&) = default;
};
inline constexpr EngineProfile EngineProfile::safe = {Kind::safe, {}};
inline constexpr EngineProfile EngineProfile::reference = {Kind::reference, {}};

// "safe", "reference", "vllm@2026-06-29".
std::string engine_profile_name(const EngineProfile& profile);

// Empty for any other name. "pages" is the older name of "reference".
std::optional<EngineProfile> parse_engine_profile(std::string_view name);

// The name that is shown for a profile: "reference" for "pages". A text that names no profile is
// returned unchanged.
std::string canonical_profile_name(std::string name);

// "safe, reference or vllm@YYYY-MM-DD"
inline constexpr std::string_view kEngineProfileNames = "safe, reference or vllm@YYYY-MM-DD";

}  // namespace hybridscope
