#include "sessions/scenario/engine_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr std::string_view kDated = "vllm@";
constexpr std::string_view kReleased = "vllm-";
constexpr std::string_view kDateShape = "dddd-dd-dd";

std::int32_t number(std::string_view digits) {
  std::int32_t value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  return value;
}

bool has_shape_of_a_date(std::string_view text) {
  return std::ranges::equal(text, kDateShape, [](char c, char shape) {
    return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
  });
}

std::chrono::year_month_day day_of(const CalendarDate& date) {
  return {std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(date.month)),
          std::chrono::day(static_cast<unsigned>(date.day))};
}

bool exists(const CalendarDate& date) {
  return day_of(date).ok() && date.year >= 2000 && date.year <= 2099;
}

}  // namespace

std::optional<CalendarDate> parse_date(std::string_view text) {
  if (!has_shape_of_a_date(text)) return std::nullopt;
  const CalendarDate date{number(text.substr(0, 4)), number(text.substr(5, 2)),
                          number(text.substr(8, 2))};
  return exists(date) ? std::optional(date) : std::nullopt;
}

std::string date_text(const CalendarDate& date) {
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

bool is_in_the_future(const CalendarDate& date) {
  const auto tomorrow = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()) +
                        std::chrono::days(1);
  return std::chrono::sys_days(day_of(date)) > tomorrow;
}

std::string engine_profile_name(const EngineProfile& profile) {
  switch (profile.kind) {
    case EngineProfile::Kind::safe: return "safe";
    case EngineProfile::Kind::reference: return "reference";
    case EngineProfile::Kind::vllm_release:
      return fmt::format("{}{}", kReleased, release_name(profile.release));
    case EngineProfile::Kind::vllm_day: return fmt::format("{}{}", kDated, date_text(profile.date));
  }
  return {};
}

std::optional<EngineProfile> parse_engine_profile(std::string_view name) {
  if (name == "safe") return EngineProfile::safe;
  if (name == "reference" || name == "pages") return EngineProfile::reference;
  if (name == "vllm") return EngineProfile::vllm(kNewestRelease);
  if (name.starts_with(kReleased)) {
    const std::optional<Release> release = parse_release(name.substr(kReleased.size()));
    return release ? std::optional(EngineProfile::vllm(*release)) : std::nullopt;
  }
  if (!name.starts_with(kDated)) return std::nullopt;
  const std::optional<CalendarDate> date = parse_date(name.substr(kDated.size()));
  if (!date || is_in_the_future(*date)) return std::nullopt;
  return EngineProfile::vllm(*date);
}

std::vector<EngineProfile> named_profiles() {
  std::vector<EngineProfile> profiles = {EngineProfile::safe, EngineProfile::reference};
  for (const std::string_view name : release_names())
    if (const std::optional<Release> release = parse_release(name))
      profiles.push_back(EngineProfile::vllm(*release));
  return profiles;
}

const std::string& engine_profile_names() {
  static const std::string kNames = [] {
    std::string names;
    for (const EngineProfile& profile : named_profiles())
      names += engine_profile_name(profile) + ", ";
    return names + "vllm (the newest) or vllm@YYYY-MM-DD";
  }();
  return kNames;
}

std::string nearest_profile_hint(std::string_view name) {
  if (name.starts_with(kDated) && has_shape_of_a_date(name.substr(kDated.size())) &&
      !parse_date(name.substr(kDated.size())))
    return ", there is no such day";
  if (name.starts_with(kDated))
    if (const auto date = parse_date(name.substr(kDated.size())); date && is_in_the_future(*date))
      return ", a day that has not come";
  static const std::vector<std::string> kNames = [] {
    // The newer release comes first, because of two equally near names the first is named.
    std::vector<std::string> names = {"safe", "reference", "pages", "vllm@2026-06-29"};
    for (auto release = release_names().rbegin(); release != release_names().rend(); ++release)
      names.push_back(fmt::format("{}{}", kReleased, *release));
    return names;
  }();
  return nearest_key_hint(name, {kNames.begin(), kNames.end()});
}

// Days on which the releases' schedulers were cut, as far as their files tell.
std::optional<Release> nearest_release(const CalendarDate& date) {
  struct Cut {
    Release release;
    CalendarDate date;
  };
  constexpr Cut kCuts[] = {{Release::v0_24_0, {2026, 6, 24}}, {Release::v0_25_1, {2026, 7, 7}},
                           {Release::v0_26_0, {2026, 7, 17}}, {Release::v0_27_1, {2026, 8, 6}},
                           {Release::v0_28_0, {2026, 8, 13}}, {Release::v0_29_0, {2026, 8, 31}}};
  for (const Cut& cut : kCuts)
    if (date <= cut.date) return cut.release;
  return std::nullopt;
}

std::string dated_profile_note(const EngineProfile& profile) {
  if (profile.kind != EngineProfile::Kind::vllm_day) return {};
  const std::optional<Release> nearest = nearest_release(profile.date);
  return fmt::format(
      "{} is profile safe with the known faults of that day; for what an installed release does "
      "take {}",
      engine_profile_name(profile),
      nearest ? "the nearest, " + engine_profile_name(EngineProfile::vllm(*nearest))
              : "a release after " + engine_profile_name(EngineProfile::vllm(Release::v0_29_0)));
}

std::string canonical_profile_name(std::string name) {
  const std::optional<EngineProfile> profile = parse_engine_profile(name);
  return profile ? engine_profile_name(*profile) : name;
}

}  // namespace hybridscope
