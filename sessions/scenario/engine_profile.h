// The source of all policies that are not set one by one: a named profile, a release of vLLM, or
// vLLM as it was on a given day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/releases.h"

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
// After tomorrow by this machine's clock, in UTC: it is tomorrow somewhere already.
bool is_in_the_future(const CalendarDate& date);
std::string date_text(const CalendarDate& date);

struct EngineProfile {
  enum class Kind : std::uint8_t {
    safe,          // never corrupts state
    reference,     // does what the reference does
    vllm_release,  // does what `release` of vLLM does, faults included
    vllm_day,      // profile safe with the known faults that vLLM had on `date`
  };
  Kind kind = Kind::safe;
  CalendarDate date = {};  // vllm_day only
  Release release = {};    // vllm_release only

  static const EngineProfile safe;
  static const EngineProfile reference;
  static constexpr EngineProfile vllm(CalendarDate date) { return {Kind::vllm_day, date, {}}; }
  static constexpr EngineProfile vllm(Release release) { return {Kind::vllm_release, {}, release}; }
  friend bool operator==(const EngineProfile&, const EngineProfile&) = default;
};
inline constexpr EngineProfile EngineProfile::safe = {Kind::safe, {}, {}};
inline constexpr EngineProfile EngineProfile::reference = {Kind::reference, {}, {}};

// "safe", "reference", "vllm-0.33.0", "vllm@2026-06-29".
std::string engine_profile_name(const EngineProfile& profile);

// The profiles to choose from: safe, reference, then the releases of vLLM in order.
std::vector<EngineProfile> named_profiles();

// Empty for any other name, and for a day in the future. "vllm" is the newest release, "pages" the
// older name of "reference".
std::optional<EngineProfile> parse_engine_profile(std::string_view name);

// The name that is shown for a profile: "reference" for "pages". A text that names no profile is
// returned unchanged.
std::string canonical_profile_name(std::string name);

// "safe, reference, vllm-0.24.0, ..., vllm (the newest) or vllm@YYYY-MM-DD".
const std::string& engine_profile_names();

// ", did you mean \"vllm-0.33.0\"?", ", a day that has not come"; empty if no profile has a name
// like it.
std::string nearest_profile_hint(std::string_view name);

// The first release cut on that day or later. Empty after 2026-08-31: on which days 0.30.0 and
// later releases were cut is not known.
std::optional<Release> nearest_release(const CalendarDate& date);

// What a profile of a day is, and which release to take instead; empty for profiles without a date.
std::string dated_profile_note(const EngineProfile& profile);

}  // namespace hybridscope
