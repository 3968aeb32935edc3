// Which values the policies have that nobody set one by one: those of a named profile, or those of
// an engine as it was on a day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hybridscope {

// A day of the Gregorian calendar, ordered by time.
struct CalendarDate {
  std::int32_t year = 0;
  std::int32_t month = 0;  // 1..12
  std::int32_t day = 0;    // 1..31
  friend constexpr auto operator<=>(const CalendarDate&, const CalendarDate&) = default;
};

// "2026-06-29". Nothing for what is no day from 2000-01-01 to 2099-12-31, written with zeros.
std::optional<CalendarDate> parse_date(std::string_view text);
std::string date_text(const CalendarDate& date);

struct EngineProfile {
  enum class Kind : std::uint8_t {
    safe,   // never corrupts state
    pages,  // does what the reference pages do
    vllm,   // vLLM as it was on `date`: the known faults that were alive on it
  };
  Kind kind = Kind::safe;
  CalendarDate date = {};  // vllm only

  static const EngineProfile safe;
  static const EngineProfile pages;
  static constexpr EngineProfile vllm(CalendarDate date) { return {Kind::vllm, date}; }
  friend bool operator==(const EngineProfile&, const EngineProfile&) = default;
};
inline constexpr EngineProfile EngineProfile::safe = {Kind::safe, {}};
inline constexpr EngineProfile EngineProfile::pages = {Kind::pages, {}};

// "safe", "pages", "vllm@2026-06-29".
std::string engine_profile_name(const EngineProfile& profile);

// Nothing for a name that is none.
std::optional<EngineProfile> parse_engine_profile(std::string_view name);

// "safe, pages or vllm@YYYY-MM-DD"
inline constexpr std::string_view kEngineProfileNames = "safe, pages or vllm@YYYY-MM-DD";

}  // namespace hybridscope
